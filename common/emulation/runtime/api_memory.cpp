// Memory, copies and symbols of the runtime API.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/include/convlab_emulation/runtime_api.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/gpu_model.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/settings.hpp"

using namespace convlab::emulation;

namespace {

constexpr std::size_t kPitchAlignment = 512;

cudaError_t allocate(void** pointer, std::size_t bytes, MemoryKind kind,
                     const CUstream_st* stream = nullptr) {
  if (sticky_error() != cudaSuccess) return sticky_error();
  const bool is_captured = stream != nullptr && stream->capture;
  const cudaError_t refused = is_captured ? cudaSuccess : streams().allow_unsafe();
  if (refused != cudaSuccess) return record_error(refused);
  if (pointer == nullptr) return record_error(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  *pointer = device_memory().allocate(bytes, kind);
  const std::size_t most = device_memory().total();
  const bool machine_is_full = bytes <= device_memory().free();
  if (*pointer == nullptr && kind == MemoryKind::kDevice && (bytes > most || machine_is_full))
    send_report(
        {.is_note = true,
         .what = "an allocation of " + std::to_string(bytes) + " bytes: " +
                 (machine_is_full
                      ? "this machine has not so much memory left; give the program smaller sizes"
                      : "the device has " + std::to_string(most) +
                            "; CONVLAB_EMU_MEMORY=MIB gives it more, as far as this machine has "
                            "it")});
  note_allocation(static_cast<std::int64_t>(bytes));
  return record_error(*pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

/// Why memory cannot be freed.
std::pair<convlab::FaultKind, std::string> release_problem(const void* pointer,
                                                           const std::string& function) {
  const auto allocation = device_memory().find(pointer);
  const std::string place = device_memory().describe(pointer);
  if (allocation && allocation->begin != pointer)
    return {convlab::FaultKind::kCopy,
            function + " wants the start of an allocation, not " + place};
  if (allocation)
    return {convlab::FaultKind::kCopy,
            function + " of " + place + ", which " +
                (allocation->kind == MemoryKind::kPinned ? "cudaFreeHost" : "cudaFree") + " frees"};
  if (device_memory().contains(pointer)) {
    const auto memory = device_memory().nearest(pointer);
    return {memory && memory->freed ? convlab::FaultKind::kCopyFreed : convlab::FaultKind::kCopy,
            function + ": " + place + ", not the start of memory to free (freed twice?)"};
  }
  return {function == "cudaFree" ? convlab::FaultKind::kFreeHost : convlab::FaultKind::kCopy,
          function + " of a pointer that no allocation of the device has given"};
}

cudaError_t release(void* pointer, MemoryKind kind, const char* function) {
  if (pointer == nullptr || device_memory().release(pointer, kind)) return cudaSuccess;
  const auto [fault, text] = release_problem(pointer, function);
  return refuse(cudaErrorInvalidValue, text, fault);
}

/// The part that all copies share. Host memory that is not pinned is read before the call returns,
/// and written before it returns, as CUDA promises.
cudaError_t copy_memory(Copy copy, cudaMemcpyKind kind, bool asynchronous, cudaStream_t handle,
                        const char* function) {
  return with_stream(function, handle, [&](CUstream_st& stream) {
    if (copy.is_empty()) return cudaSuccess;
    const cudaError_t problem = check(copy, kind, function);
    if (problem != cudaSuccess) return problem;
    const Side from = copy.from_side();
    const Side to = copy.to_side();
    const bool is_plain = !asynchronous || stream.number == 0 || from == to ||
                          (from != Side::kBoth && to != Side::kBoth);
    if (settings().work == Work::kPlainCopies && !is_plain) return cudaSuccess;
    note_copy(from == Side::kDevice, to == Side::kDevice, static_cast<std::int64_t>(copy.bytes()));
    if (!stream.capture && asynchronous && settings().lazy_streams && from == Side::kHost) {
      const auto staged =
          std::make_shared<std::vector<std::byte>>(copy.from, copy.from + copy.from_span());
      streams().submit(
          stream,
          [copy, staged, function]() mutable {
            copy.from = staged->data();
            copy.run(function);
          },
          cudaGraphNodeTypeMemcpy);
    } else {
      constexpr unsigned kOne = 0x3f80'0000;
      const Fill ones{copy.to, copy.to_pitch, kOne, sizeof kOne, copy.width, copy.height};
      Action instead;
      if (settings().work == Work::kNoInputs && to == Side::kDevice)
        instead = [ones, function] { ones.run(function); };
      if (settings().work == Work::kNoOutputs && to != Side::kDevice) instead = [] {};
      streams().submit(
          stream, [copy, function] { copy.run(function); }, cudaGraphNodeTypeMemcpy,
          is_plain ? 0 : copy.bytes(), instead);
    }
    const bool on_device = from == Side::kDevice && to == Side::kDevice;
    const bool waits = !stream.capture && (asynchronous ? to == Side::kHost : !on_device);
    if (!waits) return cudaSuccess;
    streams().finish(stream);
    return after_synchronization();
  });
}

cudaError_t copy_box(const cudaMemcpy3DParms* box, bool asynchronous, cudaStream_t handle,
                     const char* function) {
  const cudaError_t problem = check(box, function);
  return problem == cudaSuccess ? copy_memory(Copy(*box), box->kind, asynchronous, handle, function)
                                : problem;
}

/// Sets rows of `width` bytes that begin `pitch` bytes apart to one value.
cudaError_t set_rows(const char* function, void* to, std::size_t pitch, int value,
                     std::size_t width, std::size_t height, cudaStream_t handle) {
  const Fill fill{
      static_cast<std::byte*>(to), pitch, static_cast<unsigned>(value), 1, width, height};
  return with_stream(function, handle, [&](CUstream_st& stream) {
    const cudaError_t problem = fill.is_empty() ? cudaSuccess : check(fill, "cudaMemset");
    if (problem == cudaSuccess && !fill.is_empty())
      streams().submit(
          stream, [fill, function] { fill.run(function); }, cudaGraphNodeTypeMemset);
    return problem;
  });
}

/// From the last layer to the first: if one lies outside of the memory, nothing is set.
cudaError_t set_box(const char* function, const cudaPitchedPtr& to, int value,
                    const cudaExtent& extent, cudaStream_t stream) {
  cudaError_t error = extent.depth > 1 && extent.height > to.ysize
                          ? record_error(cudaErrorInvalidValue)
                          : cudaSuccess;
  for (std::size_t layer = extent.depth; layer-- > 0 && error == cudaSuccess;)
    error = set_rows(function, static_cast<std::byte*>(to.ptr) + layer * to.ysize * to.pitch,
                     to.pitch, value, extent.width, extent.height, stream);
  return error;
}

cudaError_t check_symbol(const volatile void* symbol, std::size_t symbol_bytes, std::size_t bytes,
                         std::size_t offset, const char* function) {
  if (sticky_error() != cudaSuccess) return sticky_error();
  if (!is_static_storage(const_cast<const void*>(symbol)))
    return refuse(
        cudaErrorInvalidSymbol,
        std::string(function) + ": the argument is no __device__ or __constant__ variable");
  if (offset > symbol_bytes || bytes > symbol_bytes - offset)
    return refuse(cudaErrorInvalidValue,
                  std::string(function) + ": " + std::to_string(bytes) + " bytes at offset " +
                      std::to_string(offset) + " do not fit into a symbol of " +
                      std::to_string(symbol_bytes) + " bytes",
                  convlab::FaultKind::kCopyBeyond);
  return cudaSuccess;
}

}  // namespace

// ---- allocation ---------------------------------------------------------------------------------

CONVLAB_API(cudaMalloc, (void** pointer, std::size_t bytes),
            allocate(pointer, bytes, MemoryKind::kDevice))
CONVLAB_API(cudaMallocManaged, (void** pointer, std::size_t bytes, unsigned int /*flags*/),
            allocate(pointer, bytes, MemoryKind::kManaged))
CONVLAB_API(cudaMallocHost, (void** pointer, std::size_t bytes, unsigned int /*flags*/),
            allocate(pointer, bytes, MemoryKind::kPinned))

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned int flags) {
  constexpr unsigned kFlags =
      cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  if ((flags & ~kFlags) != 0) return record_error(cudaErrorInvalidValue);
  return cudaMallocHost(pointer, bytes, flags);
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* pointer) {
  const auto allocation = device_memory().find(pointer);
  const bool is_host = allocation && allocation->kind == MemoryKind::kPinned;
  if (!is_host && !only<PinnedMemory>().contains(pointer))
    return record_error(cudaErrorInvalidValue);
  // With one address for both sides all of it is mapped for the device. On a GPU other flags may
  // be set, too: not measured.
  return answer(flags, cudaHostAllocMapped);
}

cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t handle) {
  return with_stream(__func__, handle, [&](const CUstream_st& stream) {
    return allocate(pointer, bytes, MemoryKind::kDevice, &stream);
  });
}

cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width_bytes,
                            std::size_t height) {
  if (pitch == nullptr) return record_error(cudaErrorInvalidValue);
  const std::size_t most = SIZE_MAX / 2 / std::max<std::size_t>(height, 1);
  if (width_bytes > most) return record_error(cudaErrorInvalidValue);
  *pitch = (width_bytes + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  return allocate(pointer, *pitch * height, MemoryKind::kDevice);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* box, cudaExtent extent) {
  if (box == nullptr || extent.height > SIZE_MAX / std::max<std::size_t>(extent.depth, 1))
    return record_error(cudaErrorInvalidValue);
  box->xsize = extent.width;
  box->ysize = extent.height;
  return cudaMallocPitch(&box->ptr, &box->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t cudaFree(void* pointer) {
  if (const cudaError_t lost = begin_call(__func__)) return lost;
  if (const cudaError_t refused = streams().allow_unsafe()) return record_error(refused);
  if (pointer == nullptr) return cudaSuccess;
  // Freeing waits for the whole device.
  streams().finish_all();
  const cudaError_t fault = after_synchronization();
  if (fault != cudaSuccess) return fault;
  return release(pointer, MemoryKind::kDevice, "cudaFree");
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  return with_stream(__func__, handle, [&](CUstream_st& stream) {
    const auto free = [pointer] { return release(pointer, MemoryKind::kDevice, "cudaFreeAsync"); };
    const auto allocation = device_memory().find(pointer);
    if (pointer != nullptr && (!allocation || allocation->begin != pointer)) return free();
    // A graph may be launched again: its memory stays.
    streams().submit(stream, stream.capture ? Action([] {}) : Action(free),
                     cudaGraphNodeTypeMemFree);
    return cudaSuccess;
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  if (const cudaError_t lost = begin_call(__func__)) return lost;
  if (const cudaError_t refused = streams().allow_unsafe()) return record_error(refused);
  streams().finish_all();
  return release(pointer, MemoryKind::kPinned, "cudaFreeHost");
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned int /*flags*/) {
  if (const cudaError_t lost = begin_call(__func__)) return lost;
  if (pointer == nullptr || bytes == 0) return record_error(cudaErrorInvalidValue);
  if (const cudaError_t refused = streams().allow_unsafe()) return record_error(refused);
  const bool added = only<PinnedMemory>().add(pointer, bytes);
  device_memory().note_change();
  return record_error(added ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void* pointer) {
  if (const cudaError_t lost = begin_call(__func__)) return lost;
  const bool removed = only<PinnedMemory>().remove(pointer);
  device_memory().note_change();
  return record_error(removed ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

CONVLAB_API(cudaHostGetDevicePointer, (void** device, void* host, unsigned int /*flags*/),
            side_of(host) == Side::kHost ? record_error(cudaErrorInvalidValue)
                                         : answer(device, host))

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const cudaError_t lost = begin_call(__func__)) return lost;
  if (free == nullptr || total == nullptr) return record_error(cudaErrorInvalidValue);
  *free = device_memory().free();
  *total = device_memory().total();
  return cudaSuccess;
}

// There is one memory pool. It returns freed memory at once.

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  static char the_pool;
  if (device != 0) return record_error(cudaErrorInvalidDevice);
  return answer(pool, reinterpret_cast<cudaMemPool_t>(&the_pool));
}

CONVLAB_API(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device),
            cudaDeviceGetDefaultMemPool(pool, device))

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return record_error(cudaErrorInvalidValue);
  *attributes = {cudaMemoryTypeUnregistered, 0, nullptr, nullptr};
  auto* const address = const_cast<void*>(pointer);
  const auto allocation = device_memory().find(pointer);
  const bool registered = only<PinnedMemory>().contains(pointer);
  const bool device_only = side_of(pointer) == Side::kDevice;
  if (device_only)
    attributes->type = cudaMemoryTypeDevice;
  else if (allocation && allocation->kind == MemoryKind::kManaged)
    attributes->type = cudaMemoryTypeManaged;
  else if (allocation || registered)
    attributes->type = cudaMemoryTypeHost;
  if (attributes->type != cudaMemoryTypeUnregistered) attributes->devicePointer = address;
  if (!device_only) attributes->hostPointer = address;
  return cudaSuccess;
}

// ---- copies -------------------------------------------------------------------------------------

CONVLAB_API(cudaMemcpy, (void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind),
            copy_memory(Copy(to, from, bytes), kind, false, nullptr, "cudaMemcpy"))
CONVLAB_API(cudaMemcpyAsync,
            (void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
             cudaStream_t stream),
            copy_memory(Copy(to, from, bytes), kind, true, stream, "cudaMemcpyAsync"))
CONVLAB_API(cudaMemcpy2DAsync,
            (void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
             std::size_t width_bytes, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream),
            copy_memory(Copy(to, to_pitch, from, from_pitch, width_bytes, height), kind, true,
                        stream, "cudaMemcpy2DAsync"))
CONVLAB_API(cudaMemcpy2D,
            (void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
             std::size_t width_bytes, std::size_t height, cudaMemcpyKind kind),
            copy_memory(Copy(to, to_pitch, from, from_pitch, width_bytes, height), kind, false,
                        nullptr, "cudaMemcpy2D"))

CONVLAB_API(cudaMemcpy3D, (const cudaMemcpy3DParms* box), copy_box(box, false, nullptr, __func__))
CONVLAB_API(cudaMemcpy3DAsync, (const cudaMemcpy3DParms* box, cudaStream_t stream),
            copy_box(box, true, stream, __func__))

// The one device is its own peer.
CONVLAB_API(cudaMemcpyPeer,
            (void* to, int to_device, const void* from, int from_device, std::size_t bytes),
            to_device != 0 || from_device != 0
                ? record_error(cudaErrorInvalidDevice)
                : cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice))
CONVLAB_API(cudaMemcpyPeerAsync,
            (void* to, int to_device, const void* from, int from_device, std::size_t bytes,
             cudaStream_t stream),
            to_device != 0 || from_device != 0
                ? record_error(cudaErrorInvalidDevice)
                : cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream))

CONVLAB_API(cudaMemset, (void* to, int value, std::size_t bytes),
            set_rows(__func__, to, bytes, value, bytes, 1, nullptr))
CONVLAB_API(cudaMemsetAsync, (void* to, int value, std::size_t bytes, cudaStream_t stream),
            set_rows(__func__, to, bytes, value, bytes, 1, stream))
CONVLAB_API(cudaMemset2D,
            (void* to, std::size_t pitch, int value, std::size_t width_bytes, std::size_t height),
            set_rows(__func__, to, pitch, value, width_bytes, height, nullptr))
CONVLAB_API(cudaMemset2DAsync,
            (void* to, std::size_t pitch, int value, std::size_t width_bytes, std::size_t height,
             cudaStream_t stream),
            set_rows(__func__, to, pitch, value, width_bytes, height, stream))
CONVLAB_API(cudaMemset3D, (cudaPitchedPtr to, int value, cudaExtent extent),
            set_box(__func__, to, value, extent, nullptr))
CONVLAB_API(cudaMemset3DAsync,
            (cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream),
            set_box(__func__, to, value, extent, stream))

// ---- symbols ------------------------------------------------------------------------------------

namespace convlab::emulation {
cudaError_t copy_symbol(const SymbolCopy& given, const void* other, std::size_t bytes,
                        std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  const cudaError_t problem =
      check_symbol(given.symbol, given.symbol_bytes, bytes, offset, given.function);
  if (problem != cudaSuccess) return problem;
  const auto known = find_symbol(const_cast<const void*>(given.symbol));
  if (given.to_symbol && known && known->is_read_only)
    return refuse(cudaErrorInvalidSymbol,
                  std::string(given.function) + ": " + known->name +
                      " is const and keeps its value: leave out const, or this copy");
  if (kind != (given.to_symbol ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost) &&
      kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    return record_error(cudaErrorInvalidMemcpyDirection);
  auto* const part = static_cast<std::byte*>(const_cast<void*>(given.symbol)) + offset;
  Copy copy =
      given.to_symbol ? Copy(part, other, bytes) : Copy(const_cast<void*>(other), part, bytes);
  (given.to_symbol ? copy.to_symbol : copy.from_symbol) = true;
  return copy_memory(copy, kind, given.asynchronous, stream, given.function);
}

cudaError_t symbol_address(void** address, const volatile void* symbol) {
  if (address == nullptr) return record_error(cudaErrorInvalidValue);
  const cudaError_t problem = check_symbol(symbol, 0, 0, 0, "cudaGetSymbolAddress");
  if (problem != cudaSuccess) return problem;
  *address = const_cast<void*>(symbol);
  note_symbol_address(*address);
  return cudaSuccess;
}

cudaError_t symbol_size(std::size_t* bytes, const volatile void* symbol, std::size_t symbol_bytes) {
  const cudaError_t problem = check_symbol(symbol, symbol_bytes, 0, 0, "cudaGetSymbolSize");
  return problem != cudaSuccess ? problem : answer(bytes, symbol_bytes);
}

}  // namespace convlab::emulation
