#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "common/device/cuda_check.cuh"

namespace convlab {

/// A CUDA stream that destroys itself.
class CudaStream {
 public:
  /// @param flags  cudaStreamDefault or cudaStreamNonBlocking
  explicit CudaStream(unsigned int flags = cudaStreamNonBlocking) {
    CONVLAB_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, flags));
  }
  CudaStream(CudaStream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  CudaStream& operator=(CudaStream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  [[nodiscard]] cudaStream_t get() const { return stream_; }

  /// Waits until the work so far is done.
  void synchronize() const { CONVLAB_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace convlab
