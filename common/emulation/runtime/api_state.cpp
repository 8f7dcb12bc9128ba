#include "common/emulation/runtime/api_state.hpp"

#include <execinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <utility>

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/runtime_api.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {
namespace {

constinit thread_local cudaError_t last_error = cudaSuccess;
std::atomic<cudaError_t> pending_fault = cudaSuccess;
std::atomic<cudaError_t> sticky_fault = cudaSuccess;
std::atomic<bool> forked = false;

void tell_of_fork() {
  static std::atomic<bool> told = false;
  if (!told.exchange(true))
    send_report({.fault = {.kind = FaultKind::kException},
                 .what = "this process was made by fork() after its parent had used the device: as "
                         "on a GPU, every call fails here; fork before the first call, or start a "
                         "program of its own"});
}

struct ErrorWords {
  cudaError_t error;
  const char* name;
  const char* text;
};

ErrorWords words_of(cudaError_t error) {
#define CONVLAB_CUDA_ERROR(name, number, text) {cudaError##name, "cudaError" #name, text},
  static constexpr ErrorWords kAll[] = {{cudaSuccess, "cudaSuccess", "no error"},
                                        CONVLAB_CUDA_ERRORS(CONVLAB_CUDA_ERROR)};
#undef CONVLAB_CUDA_ERROR
  const auto* const known = std::ranges::find(kAll, error, &ErrorWords::error);
  constexpr const char* kUnknown = "unrecognized error code";
  return known == std::end(kAll) ? ErrorWords{error, kUnknown, kUnknown} : *known;
}

}  // namespace

cudaError_t record_error(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

cudaError_t sticky_error() {
  if (forked.load()) [[unlikely]]
    tell_of_fork();
  return record_error(sticky_fault.load());
}

cudaError_t begin_call(const char* function) {
  note_call(function);
  if (in_kernel()) [[unlikely]] {  // it would wait for the kernel
    fail_kernel(KernelFault::kLaunchFailure, {},
                "%s is called in a kernel, and only the host may call it. (Does a parameter's "
                "destructor or copy constructor? On a GPU none runs in a kernel: hand over a "
                "pointer or a reference, and no object by value)",
                function);
  }
  return sticky_error();
}

void lose_device_by_fork() {
  sticky_fault.store(cudaErrorInitializationError);
  forked.store(true);
}

bool device_was_forked() {
  return forked.load();
}

bool context_is_gone() {
  return device_was_forked() || sticky_fault.load() == cudaErrorDevicesUnavailable;
}

void raise_device_fault(const KernelFailure& failure) {
  send_report(failure.report);
  cudaError_t none = cudaSuccess;
  pending_fault.compare_exchange_strong(none, static_cast<cudaError_t>(failure.error));
}

bool device_is_lost() {
  return pending_fault.load() != cudaSuccess || sticky_fault.load() != cudaSuccess;
}

cudaError_t after_synchronization() {
  if (const auto damage = device_memory().damage(false, "something"))
    raise_device_fault({KernelFault::kIllegalAddress, *damage});
  const cudaError_t fault = pending_fault.exchange(cudaSuccess);
  if (fault != cudaSuccess) sticky_fault.store(fault);
  return record_error(sticky_fault.load());
}

void reset_errors() {
  if (device_is_lost()) sticky_fault.store(cudaErrorDevicesUnavailable);
  pending_fault.store(cudaSuccess);
}

void renew_device() {
  cudaDeviceReset();
  sticky_fault.store(cudaSuccess);
  last_error = cudaSuccess;
}

cudaError_t refuse(cudaError_t error, const std::string& what, FaultKind kind) {
  std::array<void*, 16> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  send_report({.fault = {.kind = error == cudaErrorNotSupported ? FaultKind::kUnsupported : kind},
               .what = what,
               .at = source_place(frames.data(), count)});
  return record_error(error);
}

}  // namespace convlab::emulation

using namespace convlab::emulation;

cudaError_t cudaGetLastError() {
  note_call(__func__);
  return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  note_call(__func__);
  return last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
  return words_of(error).name;
}

const char* cudaGetErrorString(cudaError_t error) {
  return words_of(error).text;
}
