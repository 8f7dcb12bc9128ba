// The functions that allocate device memory, as a custom submission calls them: they keep a record,
// so that the grader finds the copies of an input that a prolog has made.
//
// objcopy renames the calls of the file's object, cudaMalloc to convlab_recorded_cudaMalloc
// (common/custom_submission/recorded_calls). A call by another way is not recorded: then the input
// may not be found, and the grader counts the prolog as well.
//
// Guarded, memory from cudaMalloc ends at most 15 bytes before unmapped memory: a kernel that reads
// or writes beyond it fails. Each allocation takes at least one page of the GPU, which is 2 MiB.

#include <cuda.h>
#include <cuda_runtime.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "common/base/library_function.hpp"
#include "common/device/recorded_allocations.hpp"

namespace convlab {

namespace {

// CUDA's virtual memory, functions of the driver. Found at run time, because a program that links
// the driver does not start without one.
#define CONVLAB_IN_DRIVER(function) library_function<decltype(function)>("libcuda.so.1", #function)
struct Driver {
  decltype(&cuMemAddressReserve) reserve = CONVLAB_IN_DRIVER(cuMemAddressReserve);
  decltype(&cuMemAddressFree) unreserve = CONVLAB_IN_DRIVER(cuMemAddressFree);
  decltype(&cuMemCreate) create = CONVLAB_IN_DRIVER(cuMemCreate);
  decltype(&cuMemRelease) release = CONVLAB_IN_DRIVER(cuMemRelease);
  decltype(&cuMemMap) map = CONVLAB_IN_DRIVER(cuMemMap);
  decltype(&cuMemUnmap) unmap = CONVLAB_IN_DRIVER(cuMemUnmap);
  decltype(&cuMemSetAccess) set_access = CONVLAB_IN_DRIVER(cuMemSetAccess);
};

const Driver& driver() {
  static const Driver instance;
  return instance;
}

/// Pages that end where the memory of one allocation ends.
struct Mapping {
  CUdeviceptr reserved = 0;
  CUdeviceptr mapped = 0;
  std::size_t reserved_bytes = 0;
  std::size_t mapped_bytes = 0;
  CUmemGenericAllocationHandle handle = 0;

  void undo() const {
    if (mapped != 0) driver().unmap(mapped, mapped_bytes);
    if (handle != 0) driver().release(handle);
    if (reserved != 0) driver().unreserve(reserved, reserved_bytes);
  }
};

struct Allocation {
  MemoryRange range{};
  std::optional<Mapping> guarded{};
};

struct Record {
  std::mutex mutex;
  std::map<void*, Allocation> allocations;
  std::set<void*> pinned;
};

Record& record() {
  static auto* const instance = new Record;  // a file's static objects may free at the very end
  return *instance;
}

std::atomic<AllocationMode> mode{AllocationMode::kUsual};
void (*prepare_pinning)(const void* memory) = nullptr;

std::size_t round_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

// An unmapped page, the memory, another unmapped page.
bool map_pages(Mapping& mapping, std::size_t bytes, int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  constexpr std::size_t kPage = std::size_t{2} << 20;  // of every GPU
  mapping.mapped_bytes = round_up(bytes, kPage);
  mapping.reserved_bytes = mapping.mapped_bytes + 2 * kPage;
  CUdeviceptr reserved = 0;
  CUmemGenericAllocationHandle handle = 0;
  if (driver().reserve(&reserved, mapping.reserved_bytes, 0, 0, 0) != CUDA_SUCCESS) return false;
  mapping.reserved = reserved;
  if (driver().create(&handle, mapping.mapped_bytes, &properties, 0) != CUDA_SUCCESS) return false;
  mapping.handle = handle;
  const CUdeviceptr begin = reserved + kPage;
  if (driver().map(begin, mapping.mapped_bytes, 0, handle, 0) != CUDA_SUCCESS) return false;
  mapping.mapped = begin;
  return driver().set_access(begin, mapping.mapped_bytes, &access, 1) == CUDA_SUCCESS;
}

// On a separate stream: the file's streams need not wait for the default one.
void poison(void* memory, std::size_t bytes) {
  constexpr int kPoisonByte = 0xff;
  cudaStream_t stream = nullptr;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return;
  cudaMemsetAsync(memory, kPoisonByte, bytes, stream);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
}

constexpr int kHost = -1;

int current_device() {
  int device = 0;
  cudaGetDevice(&device);
  return device;
}

cudaError_t note(cudaError_t error, void* const* memory, std::size_t bytes,
                 int device = current_device(), std::optional<Mapping> guarded = std::nullopt) {
  if (error != cudaSuccess || memory == nullptr || *memory == nullptr) return error;
  if (device != kHost && mode != AllocationMode::kUsual) poison(*memory, bytes);
  const std::lock_guard<std::mutex> lock(record().mutex);
  record().allocations[*memory] = {
      {static_cast<std::byte*>(*memory), static_cast<std::int64_t>(bytes), device == 0}, guarded};
  return error;
}

// Nothing if the driver has no such memory, or none is left.
std::optional<Mapping> allocate_guarded(void** memory, std::size_t bytes) {
  const bool has_such_memory = driver().set_access != nullptr;
  if (mode != AllocationMode::kGuarded || memory == nullptr || bytes == 0 || !has_such_memory) {
    return std::nullopt;
  }
  Mapping mapping;
  if (!map_pages(mapping, bytes, current_device())) {
    mapping.undo();
    return std::nullopt;
  }
  constexpr std::size_t kAlignment = 16;  // of the widest load that a thread can do
  *memory =
      reinterpret_cast<void*>(mapping.mapped + mapping.mapped_bytes - round_up(bytes, kAlignment));
  return mapping;
}

std::optional<Mapping> forget(void* memory) {
  const std::lock_guard<std::mutex> lock(record().mutex);
  const auto found = record().allocations.find(memory);
  if (found == record().allocations.end()) return std::nullopt;
  const std::optional<Mapping> guarded = found->second.guarded;
  record().allocations.erase(found);
  return guarded;
}

}  // namespace

void choose_allocation_mode(AllocationMode chosen) {
  mode = chosen;
}

void before_recorded_pinning(void (*prepare)(const void* memory)) {
  prepare_pinning = prepare;
}

void release_recorded_pinning() {
  const std::lock_guard<std::mutex> lock(record().mutex);
  for (void* memory : record().pinned) cudaHostUnregister(memory);
  if (!record().pinned.empty()) cudaGetLastError();  // whoever freed the memory has lost it, too
  record().pinned.clear();
}

std::vector<MemoryRange> recorded_allocations() {
  const std::lock_guard<std::mutex> lock(record().mutex);
  std::vector<MemoryRange> ranges;
  for (const auto& entry : record().allocations) ranges.push_back(entry.second.range);
  return ranges;
}

}  // namespace convlab

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's
extern "C" {

cudaError_t convlab_recorded_cudaMalloc(void** memory, std::size_t bytes) {
  const auto guarded = convlab::allocate_guarded(memory, bytes);
  return convlab::note(guarded ? cudaSuccess : cudaMalloc(memory, bytes), memory, bytes,
                       convlab::current_device(), guarded);
}

cudaError_t convlab_recorded_cudaMallocAsync(void** memory, std::size_t bytes,
                                             cudaStream_t stream) {
  return convlab::note(cudaMallocAsync(memory, bytes, stream), memory, bytes);
}

cudaError_t convlab_recorded_cudaMallocFromPoolAsync(void** memory, std::size_t bytes,
                                                     cudaMemPool_t pool, cudaStream_t stream) {
  return convlab::note(cudaMallocFromPoolAsync(memory, bytes, pool, stream), memory, bytes);
}

cudaError_t convlab_recorded_cudaMallocManaged(void** memory, std::size_t bytes, unsigned flags) {
  return convlab::note(cudaMallocManaged(memory, bytes, flags), memory, bytes);
}

cudaError_t convlab_recorded_cudaMallocPitch(void** memory, std::size_t* pitch, std::size_t width,
                                             std::size_t height) {
  const cudaError_t error = cudaMallocPitch(memory, pitch, width, height);
  const std::size_t bytes = error == cudaSuccess ? *pitch * height : 0;
  return convlab::note(error, memory, bytes);
}

cudaError_t convlab_recorded_cudaMallocHost(void** memory, std::size_t bytes) {
  return convlab::note(cudaMallocHost(memory, bytes), memory, bytes, convlab::kHost);
}

cudaError_t convlab_recorded_cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  return convlab::note(cudaHostAlloc(memory, bytes, flags), memory, bytes, convlab::kHost);
}

cudaError_t convlab_recorded_cudaHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  if (convlab::prepare_pinning != nullptr) convlab::prepare_pinning(memory);
  const cudaError_t error = cudaHostRegister(memory, bytes, flags);
  const std::lock_guard<std::mutex> lock(convlab::record().mutex);
  if (error == cudaSuccess) convlab::record().pinned.insert(memory);
  return error;
}

cudaError_t convlab_recorded_cudaHostUnregister(void* memory) {
  const std::lock_guard<std::mutex> lock(convlab::record().mutex);
  convlab::record().pinned.erase(memory);
  return cudaHostUnregister(memory);
}

cudaError_t convlab_recorded_cudaFree(void* memory) {
  const auto guarded = convlab::forget(memory);
  if (!guarded) return cudaFree(memory);
  const cudaError_t error = cudaDeviceSynchronize();  // as cudaFree does
  guarded->undo();
  return error;
}

cudaError_t convlab_recorded_cudaFreeAsync(void* memory, cudaStream_t stream) {
  convlab::forget(memory);
  return cudaFreeAsync(memory, stream);
}

cudaError_t convlab_recorded_cudaFreeHost(void* memory) {
  convlab::forget(memory);
  return cudaFreeHost(memory);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
