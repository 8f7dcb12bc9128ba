#pragma once

#include <atomic>
#include <cstddef>
#include <iterator>
#include <map>
#include <mutex>

#include "common/base/address_sanitizer.hpp"

#if CONVLAB_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace convlab::emulation {
// For builds with AddressSanitizer; in others they do nothing.
inline void forbid_access([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#if CONVLAB_ADDRESS_SANITIZER
  __asan_poison_memory_region(begin, bytes);
#endif
}

inline void allow_access([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#if CONVLAB_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

/// The unit in which the operating system gives and protects memory.
constexpr std::size_t kPage = 4096;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Pieces of memory that do not overlap.
class MemoryPieces {
 public:
  /// @return false if another piece begins there; this one replaces it
  bool add(const void* begin, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    is_used_ = true;
    return pieces_.insert_or_assign(static_cast<const std::byte*>(begin), bytes).second;
  }
  /// @return false if none begins there
  bool remove(const void* begin) {
    if (!is_used_.load()) return false;
    const std::lock_guard lock(mutex_);
    return pieces_.erase(static_cast<const std::byte*>(begin)) != 0;
  }
  /// All of them, by their first bytes.
  [[nodiscard]] std::map<const std::byte*, std::size_t> all() const {
    const std::lock_guard lock(mutex_);
    return pieces_;
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
