#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace convlab {

/// Memory of the grader's numbers as a submission sees it: between guard pages. An index outside
/// the array causes a signal, and its address shows the index.
class MappedSegment {
 public:
  static constexpr std::size_t kGuardBytes = std::size_t{1} << 20;

  enum class Access { kRead, kWrite };

  /// Maps the whole memory file and replaces the earlier mapping. All pages are present at once, so
  /// that no page fault falls into a convolution that is timed.
  /// @throws EnvironmentError if there is no memory for it
  void map(int descriptor, Access access);

  /// Private memory of this process instead, of at least `size` bytes.
  void make(std::size_t size);

  void allow(Access access);

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }  ///< 0: nothing is mapped

  [[nodiscard]] bool contains(std::uintptr_t address) const;

  /// True from kGuardBytes before the segment to kGuardBytes behind it.
  [[nodiscard]] bool is_near(std::uintptr_t address) const;

 private:
  void map_pages(std::size_t size, int protection, int flags, int descriptor);

  std::shared_ptr<std::byte> reserved_;  ///< with the guard pages
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_size_ = 0;
};

}  // namespace convlab
