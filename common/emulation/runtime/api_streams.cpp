// Streams and events of the runtime API.

#include <chrono>
#include <memory>
#include <utility>

#include "common/emulation/include/convlab_emulation/runtime_api.hpp"
#include "common/emulation/runtime/api_state.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/stream.hpp"

using namespace convlab::emulation;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  if (const cudaError_t lost = begin_call(__func__)) return lost;
  if (stream == nullptr || flags > cudaStreamNonBlocking)
    return record_error(cudaErrorInvalidValue);
  *stream = streams().create(flags);
  return cudaSuccess;
}

CONVLAB_API(cudaStreamCreate, (cudaStream_t * stream),
            cudaStreamCreateWithFlags(stream, cudaStreamDefault))

// What GPUs answer. Priorities say what to begin first, which has no effect on a result.
constexpr int kGreatestPriority = -5;

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  const cudaError_t error = cudaStreamCreateWithFlags(stream, flags);
  if (error == cudaSuccess) (*stream)->priority = std::clamp(priority, kGreatestPriority, 0);
  return error;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const cudaError_t error = streams().destroy(stream);
  return sticky_error() != cudaSuccess ? sticky_error() : record_error(error);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return with_stream(__func__, handle, [](CUstream_st& stream) {
    if (const cudaError_t refused = streams().allow_wait(stream)) return refused;
    streams().finish(stream);
    return after_synchronization();
  });
}

// What a stream is asked for.
#define CONVLAB_OF_STREAM(name, type, member)                             \
  cudaError_t name(cudaStream_t handle, type* value) {                    \
    return with_stream(__func__, handle, [&](const CUstream_st& stream) { \
      return answer(value, static_cast<type>(member));                    \
    });                                                                   \
  }
CONVLAB_OF_STREAM(cudaStreamGetFlags, unsigned int,
                  stream.blocking ? cudaStreamDefault : cudaStreamNonBlocking)
CONVLAB_OF_STREAM(cudaStreamGetPriority, int, stream.priority)
CONVLAB_OF_STREAM(cudaStreamGetId, unsigned long long, stream.number)
CONVLAB_OF_STREAM(cudaStreamGetDevice, int, (static_cast<void>(stream), 0))
#undef CONVLAB_OF_STREAM

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return with_stream(__func__, handle, [](CUstream_st& stream) {
    if (const cudaError_t refused = streams().allow_wait(stream)) return refused;
    if (!streams().poll(stream.last)) return cudaErrorNotReady;
    return after_synchronization();
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned int /*flags*/) {
  return with_stream(__func__, handle, [&](CUstream_st& stream) {
    if (!is_live(event)) return cudaErrorInvalidResourceHandle;
    return streams().wait_event(stream, *event);
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return with_stream(__func__, handle, [&](CUstream_st& stream) {
    if (function == nullptr) return cudaErrorInvalidValue;
    streams().submit(
        stream, [function, data] { function(data); }, cudaGraphNodeTypeHost);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* data,
                                  unsigned int /*flags*/) {
  return with_stream(__func__, handle, [&](CUstream_st& stream) {
    if (callback == nullptr) return cudaErrorInvalidValue;
    if (stream.capture) return streams().allow_wait(stream);
    streams().submit(
        stream, [=] { callback(handle, sticky_error(), data); }, cudaGraphNodeTypeHost);
    return cudaSuccess;
  });
}

// ---- events -------------------------------------------------------------------------------------

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  if (const cudaError_t lost = begin_call(__func__)) return lost;
  if (event == nullptr) return record_error(cudaErrorInvalidValue);
  auto made = std::make_unique<CUevent_st>();
  made->timed = (flags & cudaEventDisableTiming) == 0;
  *event = handles<CUevent_st>().add(std::move(made));
  return cudaSuccess;
}

CONVLAB_API(cudaEventCreate, (cudaEvent_t * event, unsigned int flags),
            cudaEventCreateWithFlags(event, flags))

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const bool removed = handles<CUevent_st>().remove(event) != nullptr;
  if (sticky_error() != cudaSuccess) return sticky_error();
  return record_error(removed ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  return with_stream(__func__, handle, [&](CUstream_st& stream) {
    if (!is_live(event)) return cudaErrorInvalidResourceHandle;
    streams().record(stream, *event);
    return cudaSuccess;
  });
}

CONVLAB_API(cudaEventRecordWithFlags,
            (cudaEvent_t event, cudaStream_t stream, unsigned int /*flags*/),
            cudaEventRecord(event, stream))

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const cudaError_t lost = begin_call(__func__)) return lost;
  if (!is_live(event)) return record_error(cudaErrorInvalidResourceHandle);
  if (const cudaError_t refused = streams().allow_wait(*event)) return record_error(refused);
  streams().finish(*event);
  return after_synchronization();
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t lost = begin_call(__func__)) return lost;
  if (!is_live(event)) return record_error(cudaErrorInvalidResourceHandle);
  if (const cudaError_t refused = streams().allow_wait(*event)) return record_error(refused);
  if (!streams().poll(event->record)) return cudaErrorNotReady;
  return after_synchronization();
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  if (const cudaError_t lost = begin_call(__func__)) return lost;
  if (milliseconds == nullptr) return record_error(cudaErrorInvalidValue);
  if (!is_live(start) || !is_live(stop) || !start->timed || !stop->timed || !start->record ||
      !stop->record)
    return record_error(cudaErrorInvalidResourceHandle);
  if (!start->record->done || !stop->record->done) return cudaErrorNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(*stop->time - *start->time).count();
  return cudaSuccess;
}
