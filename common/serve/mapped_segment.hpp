#pragma once

#include <cstddef>
#include <cstdint>

namespace convlab {

/// Shared memory as a submission sees it: the segment between guard pages. An index outside the
/// array causes a signal, and its address shows the index.
class MappedSegment {
 public:
  static constexpr std::size_t kGuardBytes = std::size_t{1} << 20;

  MappedSegment() = default;
  MappedSegment(const MappedSegment&) = delete;
  MappedSegment& operator=(const MappedSegment&) = delete;
  ~MappedSegment();

  enum class Access { kRead, kWrite };

  /// When the pages are mapped: all at once, so that no page fault falls into a convolution that is
  /// timed, or each at its first use.
  enum class Pages { kPresent, kOnDemand };

  /// Maps the whole memory file and replaces the earlier mapping.
  /// @throws EnvironmentError if there is no memory for it
  void map(int descriptor, Access access, Pages pages);

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] bool contains(std::uintptr_t address) const;

  /// True from kGuardBytes before the segment to kGuardBytes behind it.
  [[nodiscard]] bool is_near(std::uintptr_t address) const;

 private:
  void unmap();

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_size_ = 0;
};

}  // namespace convlab
