#pragma once

#include <cuda_runtime.h>

#include "common/device/cuda_check.cuh"

namespace convlab {

/// A point in the default stream's work, with the time at which the device reached it.
class CudaEvent {
 public:
  CudaEvent() { CONVLAB_CUDA_CHECK(cudaEventCreate(&event_)); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() { cudaEventDestroy(event_); }

  // Of a kernel that failed these return the error, too; check_device has the better message.
  void record() { cudaEventRecord(event_); }
  void wait() { cudaEventSynchronize(event_); }

  /// On the device's clock.
  [[nodiscard]] double milliseconds_since(const CudaEvent& start) const {
    float milliseconds = 0.0f;
    CONVLAB_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace convlab
