#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace convlab {

/// A large array of floats on the host, aligned for vectors, on huge pages if the system has them.
/// All threads touch it at construction, so that no page fault falls into a timed phase.
class Buffer {
 public:
  Buffer() = default;

  /// `size` floats, each `fill`.
  /// @throws EnvironmentError that says how much memory is needed and how much is free
  explicit Buffer(std::int64_t size, float fill = 0.0f);

  [[nodiscard]] float* data() { return data_.get(); }
  [[nodiscard]] const float* data() const { return data_.get(); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] float operator[](std::int64_t i) const { return data()[i]; }
  [[nodiscard]] float& operator[](std::int64_t i) { return data()[i]; }
  [[nodiscard]] float* begin() { return data(); }
  [[nodiscard]] float* end() { return data() + size_; }
  [[nodiscard]] const float* begin() const { return data(); }
  [[nodiscard]] const float* end() const { return data() + size_; }

 private:
  struct Free {
    void operator()(float* data) const;
  };
  std::unique_ptr<float[], Free> data_;
  std::int64_t size_ = 0;
};

/// Bytes that the system can still provide; a very large number if it does not say.
std::int64_t available_memory();

}  // namespace convlab
