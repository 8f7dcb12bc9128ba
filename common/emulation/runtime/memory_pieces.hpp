#pragma once

#include <atomic>
#include <cstddef>
#include <iterator>
#include <map>
#include <mutex>

namespace convlab::emulation {

/// Pieces of memory that do not overlap.
class MemoryPieces {
 public:
  void add(const void* begin, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    pieces_[static_cast<const std::byte*>(begin)] = bytes;
    is_used_ = true;
  }
  void remove(const void* begin) {
    if (!is_used_.load()) return;
    const std::lock_guard lock(mutex_);
    pieces_.erase(static_cast<const std::byte*>(begin));
  }
  [[nodiscard]] bool contains(const void* address) const {
    if (!is_used_.load()) return false;
    const std::lock_guard lock(mutex_);
    const auto after = pieces_.upper_bound(static_cast<const std::byte*>(address));
    if (after == pieces_.begin()) return false;
    const auto& [begin, bytes] = *std::prev(after);
    return static_cast<const std::byte*>(address) < begin + bytes;
  }

 private:
  std::atomic<bool> is_used_ = false;
  mutable std::mutex mutex_;
  std::map<const std::byte*, std::size_t> pieces_;
};

/// The stacks and the shared memory of the threads of all kernels.
struct WorkerMemory : MemoryPieces {};

}  // namespace convlab::emulation
