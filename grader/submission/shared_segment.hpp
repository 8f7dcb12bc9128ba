#pragma once

#include <cstddef>
#include <memory>

#include "common/serve/channel.hpp"

namespace convlab::grader {

/// Memory that the grader and a submission share. The grader may always write; a submission may
/// write only if Access allows it.
class SharedSegment {
 public:
  enum class Access { kReadOnly, kWritable };  ///< for the submission

  SharedSegment() = default;

  /// `size` bytes, rounded up to whole pages.
  /// @throws EnvironmentError if there is not that much memory
  SharedSegment(std::size_t size, Access access);

  [[nodiscard]] std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

 private:
  Descriptor descriptor_;
  std::shared_ptr<std::byte> data_;
  std::size_t size_ = 0;
};

}  // namespace convlab::grader
