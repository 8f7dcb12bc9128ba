#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/device/cuda_check.cuh"

namespace convlab {

/// An array in device memory that frees itself. Not initialised.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;

  /// @param size  elements
  /// @throws DeviceError that says how much memory is free
  explicit DeviceBuffer(std::int64_t size) : size_(size) {
    T* data = nullptr;
    if (size > 0) CONVLAB_CUDA_CHECK(cudaMalloc(&data, bytes()));
    data_.reset(data);
  }

  [[nodiscard]] T* data() { return data_.get(); }
  [[nodiscard]] const T* data() const { return data_.get(); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }

  /// Copies size() elements from the host, and waits for it.
  void copy_from_host(const T* host) {
    CONVLAB_CUDA_CHECK(cudaMemcpy(data_.get(), host, bytes(), cudaMemcpyHostToDevice));
  }

  /// Copies size() elements to the host, after all work before it on the default stream.
  void copy_to_host(T* host) const {
    CONVLAB_CUDA_CHECK(cudaMemcpy(host, data_.get(), bytes(), cudaMemcpyDeviceToHost));
  }

 private:
  struct Free {
    void operator()(T* data) const { cudaFree(data); }
  };
  std::unique_ptr<T, Free> data_;
  std::int64_t size_ = 0;
};

}  // namespace convlab
