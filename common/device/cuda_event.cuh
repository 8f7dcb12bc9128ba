#pragma once

#include <cuda_runtime.h>

#include "common/device/cuda_check.cuh"

namespace convlab {

/// A point in a stream's work, with the time at which the device reached it.
class CudaEvent {
 public:
  CudaEvent() { CONVLAB_CUDA_CHECK(cudaEventCreate(&event_)); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() { cudaEventDestroy(event_); }

  [[nodiscard]] cudaEvent_t get() const { return event_; }

  /// Puts this point after the work so far of `stream`; nullptr is the default stream.
  void record(cudaStream_t stream = nullptr) {
    CONVLAB_CUDA_CHECK(cudaEventRecord(event_, stream));
  }

  /// Milliseconds on the device's clock from `start` to this event; both must have been reached.
  [[nodiscard]] double milliseconds_since(const CudaEvent& start) const {
    float milliseconds = 0.0f;
    CONVLAB_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace convlab
