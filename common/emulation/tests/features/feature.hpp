#pragma once

// Small kernels with an answer, run by device emulation and by a GPU from the same source. Each
// feature returns the bits of its results; equal hashes mean equal results, bit for bit.

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace convlab::features {

using Bits = std::vector<std::uint32_t>;

/// How the result of the emulated device relates to a GPU's.
enum class Agreement { kExact, kDiffers };

struct Feature {
  const char* group;
  const char* name;
  Agreement agreement;
  std::function<Bits()> run;
  const char* remark = "";  ///< for the table: what differs
  bool own_process = false;
};

/// All features, in the order of registration within a file.
inline std::vector<Feature>& features() {
  static std::vector<Feature> instance;
  return instance;
}

struct Register {
  Register(const char* group, const char* name, std::function<Bits()> run) {
    features().push_back({group, name, Agreement::kExact, run});
  }
  Register(const char* group, const char* name, Agreement agreement, const char* remark,
           std::function<Bits()> run) {
    features().push_back({group, name, agreement, run, remark});
  }
};

/// A feature that ends the context of its process, or may end the process.
struct OwnProcess {
  OwnProcess(const char* group, const char* name, std::function<Bits()> run) {
    features().push_back({group, name, Agreement::kExact, run, "", true});
  }
};

inline void require(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

/// An array on the device, filled with zero or with given values.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    require(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()), "cudaMalloc");
    require(cudaMemset(data_, 0, bytes()), "cudaMemset");
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    require(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return data_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

  /// Waits for the device and copies the values to the host.
  std::vector<T> values() const {
    require(cudaGetLastError(), "launch");
    require(cudaDeviceSynchronize(), "kernel");
    std::vector<T> host(count_);
    require(cudaMemcpy(host.data(), data_, bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return host;
  }
  /// The same as 32-bit words.
  Bits bits() const {
    const std::vector<T> host = values();
    Bits words((bytes() + 3) / 4);
    std::memcpy(words.data(), host.data(), bytes());
    return words;
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

/// Host memory that the device may copy while the host goes on; pageable memory would be read when
/// the copy is queued.
template <typename T>
class PinnedArray {
 public:
  explicit PinnedArray(std::size_t count) : count_(count) {
    require(cudaMallocHost(reinterpret_cast<void**>(&data_), count * sizeof(T)), "cudaMallocHost");
  }
  ~PinnedArray() { cudaFreeHost(data_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;

  T* data() { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

/// A stream, for as long as a feature runs.
class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamDefault) {
    require(cudaStreamCreateWithFlags(&stream_, flags), "stream");
  }
  ~Stream() { require(cudaStreamDestroy(stream_), "cudaStreamDestroy"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// 0, 1, 2, … through a mixing function: the same values everywhere.
inline std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16U;
  x *= 0x7feb352dU;
  x ^= x >> 15U;
  x *= 0x846ca68bU;
  return x ^ (x >> 16U);
}

inline std::vector<float> some_floats(std::size_t count, float low = -2.0F, float high = 2.0F) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = low + (high - low) * static_cast<float>(mix(static_cast<std::uint32_t>(i)) >> 8U) *
                          0x1p-24F;
  return values;
}

}  // namespace convlab::features
