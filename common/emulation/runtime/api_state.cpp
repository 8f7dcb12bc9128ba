// Errors, device queries, limits and occupancy of the runtime API.
#include "common/emulation/runtime/api_state.hpp"

#include <execinfo.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <utility>

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/device_functions.hpp"
#include "common/emulation/include/convlab_emulation/runtime_api.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/gpu_model.hpp"
#include "common/emulation/runtime/kernel_heap.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/scheduler.hpp"
#include "common/emulation/runtime/settings.hpp"
#include "common/emulation/runtime/stream.hpp"

namespace convlab::emulation {
namespace {

constinit thread_local cudaError_t last_error = cudaSuccess;
std::atomic<cudaError_t> pending_fault = cudaSuccess;
std::atomic<cudaError_t> sticky_fault = cudaSuccess;

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
  return record_error(sticky_fault.load());
}

cudaError_t begin_call(const char* function) {
  if (in_kernel()) [[unlikely]] {  // it would wait for the kernel
    fail_kernel(KernelFault::kLaunchFailure, {},
                "%s is called in a kernel, and only the host may call it. (Does a parameter's "
                "destructor or copy constructor? On a GPU none runs in a kernel: hand over a "
                "pointer or a reference, and no object by value)",
                function);
  }
  return sticky_error();
}

void raise_device_fault(const EmulationReport& failure) {
  send_report(failure);
  cudaError_t none = cudaSuccess;
  pending_fault.compare_exchange_strong(none, static_cast<cudaError_t>(failure.error));
}

bool device_is_lost() {
  return pending_fault.load() != cudaSuccess || sticky_fault.load() != cudaSuccess;
}

cudaError_t after_synchronization() {
  if (const auto damage = device_memory().damage(false, "something")) raise_device_fault(*damage);
  const cudaError_t fault = pending_fault.exchange(cudaSuccess);
  if (fault != cudaSuccess) sticky_fault.store(fault);
  return record_error(sticky_fault.load());
}

void renew_device() {
  cudaDeviceReset();
  device_memory().begin_again();
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
  return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  return last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
  return words_of(error).name;
}

const char* cudaGetErrorString(cudaError_t error) {
  return words_of(error).text;
}

// ---- the device ---------------------------------------------------------------------------------

long long convlab::emulation::host_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

namespace {

int as_int(std::size_t value) {
  return static_cast<int>(std::min<std::size_t>(value, INT32_MAX));
}

// The first three as an H200 answers before a program sets them (2026-11-30, driver 580.159.04),
// the others are not measured. Of the emulated device only the heap ends at its limit: a kernel's
// stack grows as it needs, the output too.
std::array<std::atomic<std::size_t>, 7> limits{1024, 8'650'752, 8'388'608, 2, 2048, 128, 0};

thread_local int chosen_device = 0;

int device_count() {
  return settings().work == Work::kFirstDevice || settings().work == Work::kSecondDevice ? 2 : 1;
}

cudaError_t check_device(int device) {
  if (device >= 0 && device < device_count()) return cudaSuccess;
  send_report({.is_note = true,
               .what = "device " + std::to_string(device) +
                       ": the emulated device has number 0, and there is no other one"});
  return record_error(cudaErrorInvalidDevice);
}

}  // namespace

int convlab::emulation::device_of_thread() {
  return chosen_device < device_count() ? chosen_device : 0;
}

CONVLAB_API(cudaGetDeviceCount, (int* count), answer(count, device_count()))
CONVLAB_API(cudaGetDevice, (int* device), answer(device, device_of_thread()))

cudaError_t cudaSetDevice(int device) {
  // It would have to make a new context, and after cudaDeviceReset there is none.
  if (sticky_fault.load() == cudaErrorDevicesUnavailable) return sticky_error();
  const cudaError_t problem = check_device(device);
  if (problem == cudaSuccess) chosen_device = device;
  return problem;
}
CONVLAB_API(cudaInitDevice, (int device, unsigned int /*device_flags*/, unsigned int /*flags*/),
            check_device(device))
CONVLAB_API(cudaGetDeviceFlags, (unsigned int* flags),
            answer(flags, cudaDeviceScheduleAuto | cudaDeviceMapHost))
CONVLAB_API(cudaDeviceGetCacheConfig, (cudaFuncCache * config),
            answer(config, cudaFuncCachePreferNone))
CONVLAB_API(cudaDeviceGetSharedMemConfig, (cudaSharedMemConfig * config),
            answer(config, cudaSharedMemBankSizeFourByte))

cudaError_t cudaDeviceGetPCIBusId(char* name, int bytes, int device) {
  if (const cudaError_t problem = check_device(device); problem != cudaSuccess) return problem;
  const cudaDeviceProp& model = device_model();
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%04X:%02X:%02X.0", model.pciDomainID,
                                   model.pciBusID, model.pciDeviceID);
  if (name == nullptr || bytes <= length) return record_error(cudaErrorInvalidValue);
  std::copy_n(text, length + 1, name);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* name) {
  char own[32];
  cudaDeviceGetPCIBusId(own, sizeof own, 0);
  if (name == nullptr || strcasecmp(name, own) != 0) return record_error(cudaErrorInvalidValue);
  return answer(device, 0);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const cudaError_t problem = check_device(device); problem != cudaSuccess) return problem;
  cudaDeviceProp model = device_model();
  model.totalGlobalMem = device_memory().total();  // a request may have changed it
  return answer(properties, model);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (const cudaError_t problem = check_device(device); problem != cudaSuccess) return problem;
  const cudaDeviceProp& p = device_model();
  if (value == nullptr) return record_error(cudaErrorInvalidValue);
  if (attribute == 0 || attribute >= cudaDevAttrMax) return record_error(cudaErrorInvalidValue);
  *value = 0;
#define CONVLAB_ATTRIBUTE(name, number, property) \
  if (attribute == cudaDevAttr##name) *value = as_int(static_cast<std::size_t>(property));
  CONVLAB_DEVICE_ATTRIBUTES(CONVLAB_ATTRIBUTE)
#undef CONVLAB_ATTRIBUTE
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (const cudaError_t lost = begin_call(__func__)) return lost;
  if (const cudaError_t refused = streams().allow_wait()) return record_error(refused);
  streams().finish_all();
  return after_synchronization();
}

CONVLAB_API(cudaThreadSynchronize, (), cudaDeviceSynchronize())
CONVLAB_API(cudaThreadExit, (), cudaDeviceReset())

cudaError_t cudaDeviceReset() {
  streams().finish_all();
  device_memory().release_all();
  empty_kernel_heap();
  // A fault ends the context for good: as on a GPU, the process then has no device any more.
  if (device_is_lost()) sticky_fault.store(cudaErrorDevicesUnavailable);
  pending_fault.store(cudaSuccess);
  return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  if (const cudaError_t lost = begin_call(__func__)) return lost;
  if (limit >= limits.size()) return record_error(cudaErrorInvalidValue);
  limits[limit] = value;
  if (limit == cudaLimitMallocHeapSize) limit_kernel_heap(value);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  if (limit >= limits.size()) return record_error(cudaErrorInvalidValue);
  return answer(value,
                limit == cudaLimitMallocHeapSize ? kernel_heap_limit() : limits[limit].load());
}

#define CONVLAB_REFUSED(name, parameters)                                                       \
  CONVLAB_API(name, parameters,                                                                 \
              refuse(cudaErrorNotSupported, #name                                               \
                     ": there is one emulated device, and its memory belongs to this process: " \
                     "no other device and no other process can use it"))
CONVLAB_OF_OTHERS(CONVLAB_REFUSED)
#undef CONVLAB_REFUSED

CONVLAB_API(cudaDeviceCanAccessPeer, (int* can, int device, int peer),
            device != 0 || peer != 0 ? record_error(cudaErrorInvalidDevice) : answer(can, 0))
CONVLAB_API(cudaDriverGetVersion, (int* version), cudaRuntimeGetVersion(version))
CONVLAB_API(cudaRuntimeGetVersion, (int* version), answer(version, CUDART_VERSION))

// ---- occupancy ----------------------------------------------------------------------------------
// The number of registers is unknown: only threads, blocks and shared memory limit the result.

namespace convlab::emulation {

constexpr std::size_t kSharedUnit = 128;  // in which a block gets shared memory

cudaError_t blocks_per_multiprocessor(int* blocks, const void* kernel, int block_size,
                                      std::size_t dynamic_shared) {
  if (sticky_error() != cudaSuccess) return sticky_error();
  if (blocks == nullptr || block_size <= 0) return record_error(cudaErrorInvalidValue);
  const cudaDeviceProp& model = device_model();
  const KernelShared of_kernel = shared_memory_of(kernel);
  *blocks = 0;
  if (block_size > model.maxThreadsPerBlock || dynamic_shared > of_kernel.most_dynamic)
    return cudaSuccess;
  const int threads = (block_size + model.warpSize - 1) / model.warpSize * model.warpSize;
  const std::size_t shared =
      (of_kernel.fixed + dynamic_shared + kSharedUnit - 1) / kSharedUnit * kSharedUnit +
      model.reservedSharedMemPerBlock;
  *blocks = std::min(model.maxThreadsPerMultiProcessor / threads, model.maxBlocksPerMultiProcessor);
  if (shared != 0) *blocks = std::min(*blocks, as_int(model.sharedMemPerMultiprocessor / shared));
  return cudaSuccess;
}

/// The most dynamic shared memory with which so many blocks fit into a multiprocessor. As an H200
/// answers, what each block reserves is not taken off (2026-11-30, driver 580.159.04).
cudaError_t free_shared_memory(std::size_t* bytes, const void* kernel, int blocks, int block_size) {
  if (blocks <= 0 || block_size <= 0) return record_error(cudaErrorInvalidValue);
  const KernelShared of_kernel = shared_memory_of(kernel);
  const std::size_t each = device_model().sharedMemPerMultiprocessor /
                           static_cast<std::size_t>(blocks) / kSharedUnit * kSharedUnit;
  return answer(bytes, std::min(each - std::min(each, of_kernel.fixed), of_kernel.most_dynamic));
}

cudaError_t best_block_size(int* least_grid_size, int* block_size, const void* kernel,
                            std::size_t dynamic_shared, int block_size_limit) {
  if (least_grid_size == nullptr || block_size == nullptr)
    return record_error(cudaErrorInvalidValue);
  const cudaDeviceProp& model = device_model();
  int limit = model.maxThreadsPerBlock;
  if (block_size_limit > 0) limit = std::min(limit, block_size_limit);
  int best_threads = 0;
  *block_size = 0;
  *least_grid_size = 0;
  for (int size = limit / model.warpSize * model.warpSize; size > 0; size -= model.warpSize) {
    int blocks = 0;
    blocks_per_multiprocessor(&blocks, kernel, size, dynamic_shared);
    if (blocks * size <= best_threads) continue;
    best_threads = blocks * size;
    *block_size = size;
    *least_grid_size = blocks * model.multiProcessorCount;
  }
  return cudaSuccess;
}

}  // namespace convlab::emulation
