#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "common/base/descriptor.hpp"

namespace convlab::grader {

/// Memory that the grader and a submission share. The grader may always write.
class SharedSegment {
 public:
  enum class Access { kReadOnly, kWritable };  ///< for the submission

  SharedSegment() = default;
  /// Whole pages. @throws EnvironmentError if there is not that much memory
  SharedSegment(std::size_t size, Access access);

  [[nodiscard]] std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

 private:
  Descriptor descriptor_;
  std::shared_ptr<std::byte> data_;
  std::size_t size_ = 0;
};

/// Where the arrays lie in their segments.
enum class Placement {
  kAligned,  ///< at the beginning of a page, as from an allocator
  kAtBegin,  ///< behind a guard page, so a negative index faults
  kAtEnd,    ///< before a guard page, so an index too large faults
};

/// An array of floats in memory that a submission shares. The memory beside it holds poison.
struct SharedArray {
  SharedSegment segment{};
  std::size_t offset = 0;
  std::size_t bytes = 0;

  /// True if it needed another segment, which the program does not know yet.
  bool place(std::int64_t elements, SharedSegment::Access access, Placement placement);
  [[nodiscard]] float* begin() const { return reinterpret_cast<float*>(segment.data() + offset); }

  /// Fills the array with `content` (none: it stays) and the memory beside it with poison.
  void fill(std::optional<std::uint32_t> content) const;
  /// Whether the memory beside it holds poison only.
  [[nodiscard]] bool surroundings_intact() const;
};

}  // namespace convlab::grader
