#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "common/base/error.hpp"

namespace convlab {

/// Memory of the grader's numbers as a submission sees it: between guard pages. An index outside
/// the array causes a signal, and its address shows the index.
class MappedSegment {
 public:
  static constexpr std::size_t kGuardBytes = std::size_t{1} << 20;
  static constexpr int kRead = PROT_READ;
  static constexpr int kWrite = PROT_READ | PROT_WRITE;

  /// Maps the whole memory file and replaces the earlier mapping. All pages are present at once, so
  /// that no page fault falls into a convolution that is timed.
  /// @param access  kRead or kWrite
  /// @throws EnvironmentError if there is no memory for it
  void map(int descriptor, int access) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0 || status.st_size <= 0) {
      throw EnvironmentError("A shared memory segment arrived without a size.");
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    map_pages(size, access, MAP_SHARED | MAP_POPULATE, descriptor);
  }

  /// Private memory of this process instead, of at least `size` bytes: the same as last time if the
  /// size is the same, with what was written there.
  void make(std::size_t size) {
    if (is_private_ && size == size_) return;
    map_pages(size, kWrite, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    is_private_ = true;
  }

  /// Moves the mapping aside and puts pages of this process's own in its place, which can be
  /// written, with the same numbers: CUDA pins no others. take_new() brings the grader's later
  /// ones.
  void own_pages() {
    if (is_private_ || origin_ || data_ == nullptr) return;
    constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    constexpr int kOwn = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE;
    const std::size_t size = mapped_size_;
    void* aside = ::mmap(nullptr, size, PROT_NONE, kReserved, -1, 0);
    if (aside == MAP_FAILED ||
        ::mremap(data_, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, aside) == MAP_FAILED ||
        ::mmap(data_, size, kWrite, kOwn, -1, 0) == MAP_FAILED) {
      throw EnvironmentError("No memory to pin " + std::to_string(size) + " bytes.");
    }
    origin_ = {static_cast<std::byte*>(aside), [size](auto* at) { ::munmap(at, size); }};
    take_new();
  }

  void take_new() {
    if (origin_) std::memcpy(data_, origin_.get(), mapped_size_);
  }

  void allow(int access) { ::mprotect(data_, mapped_size_, access); }

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }  ///< 0: nothing is mapped

  /// Whether an address lies in the segment, or so many bytes before or behind it.
  [[nodiscard]] bool contains(std::uintptr_t address, std::size_t beside = 0) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(data_);
    return data_ != nullptr && address + beside >= begin && address < begin + mapped_size_ + beside;
  }

 private:
  void map_pages(std::size_t size, int access, int flags, int descriptor) {
    reserved_ = {};
    origin_ = {};
    data_ = nullptr;
    size_ = mapped_size_ = 0;
    is_private_ = false;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t mapped_size = (size + page - 1) / page * page;
    const std::size_t whole = mapped_size + 2 * kGuardBytes;
    constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* reserved = ::mmap(nullptr, whole, PROT_NONE, kReserved, -1, 0);
    if (reserved == MAP_FAILED) {
      throw EnvironmentError("No address space for " + std::to_string(size) + " bytes.");
    }
    reserved_ = {static_cast<std::byte*>(reserved), [whole](auto* at) { ::munmap(at, whole); }};
    std::byte* begin = reserved_.get() + kGuardBytes;
    if (::mmap(begin, mapped_size, access, flags | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
      throw EnvironmentError("No memory to map " + std::to_string(size) + " bytes.");
    }
    data_ = begin;
    size_ = size;
    mapped_size_ = mapped_size;
  }

  std::shared_ptr<std::byte> reserved_;  ///< with the guard pages
  std::shared_ptr<std::byte> origin_{};  ///< the grader's pages, if own ones stand in their place
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_size_ = 0;
  bool is_private_ = false;
};

}  // namespace convlab
