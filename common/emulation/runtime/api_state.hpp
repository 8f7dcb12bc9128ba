#pragma once

// What all functions of the runtime API share: the last error, and faults of kernels on their way
// to the host.

#include <string>
#include <type_traits>

#include "common/emulation/include/convlab_emulation/runtime_types.hpp"
#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {

/// Records an error as the calling thread's last one, unless it is cudaSuccess, and returns it.
cudaError_t record_error(cudaError_t error);

/// Writes an answer to where the caller wants it.
template <typename T>
cudaError_t answer(T* wanted, std::type_identity_t<T> value) {
  if (wanted == nullptr) return record_error(cudaErrorInvalidValue);
  *wanted = value;
  return cudaSuccess;
}

/// The error that has ended the context, if there is one: every call that needs the context then
/// records it and returns it.
[[nodiscard]] cudaError_t sticky_error();

/// Of the calling thread. There is a second device only while it is asked what each of them makes
/// (CONVLAB_EMU_WORK).
int device_of_thread();

/// Begins a call of the API that needs the context; fails a kernel that makes it.
/// @return sticky_error()
[[nodiscard]] cudaError_t begin_call(const char* function);

/// A function of the API that is one expression.
#define CONVLAB_API(name, parameters, expression) \
  cudaError_t name parameters {                   \
    return expression;                            \
  }

/// Shared memory of a block of a kernel.
struct KernelShared {
  std::size_t fixed = 0;         ///< of its static variables, as far as the rewrite knows them
  std::size_t most_dynamic = 0;  ///< what a launch may ask for
  std::size_t limit = 0;         ///< for both together
};
/// A launch with deduced template arguments does not know its function (null): the largest limit of
/// all functions holds.
[[nodiscard]] KernelShared shared_memory_of(const void* function);

/// A kernel failed. The host hears of it at its next synchronisation; no other work is done.
void raise_device_fault(const EmulationReport& failure);
[[nodiscard]] bool device_is_lost();

/// Call it after the host has waited for the device. It looks for writes around allocations, makes
/// a pending fault sticky, and returns the error code that the API function must return.
cudaError_t after_synchronization();

/// Tells a person about misuse of the API, next to the error code that CUDA has for it.
/// @param what  one or more lines
cudaError_t refuse(cudaError_t error, const std::string& what, FaultKind kind = FaultKind::kCopy);

}  // namespace convlab::emulation
