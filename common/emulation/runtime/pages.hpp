#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

#include "common/base/address_sanitizer.hpp"
#include "common/base/keyed_call.hpp"

#if CONVLAB_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace convlab::emulation {
/// What a program asks before each access, if it was compiled to do so (common/emulation/bounds);
/// else null. The byte for an address is at access_shadow[address >> 3].
/// Source: Serebryany et al., AddressSanitizer, USENIX ATC 2012.
inline std::uint8_t* access_shadow = nullptr;

/// Writes the shadow of these bytes. Pieces that may be accessed begin at a multiple of 8.
void shade(const void* begin, std::size_t bytes, bool forbidden);

/// The first byte that the shadow forbids, or null.
const std::byte* first_forbidden(const void* begin, std::size_t bytes);

inline void forbid_access([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#if CONVLAB_ADDRESS_SANITIZER
  __asan_poison_memory_region(begin, bytes);
#else
  if (access_shadow != nullptr) shade(begin, bytes, true);
#endif
}

inline void allow_access([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#if CONVLAB_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(begin, bytes);
#else
  if (access_shadow != nullptr) shade(begin, bytes, false);
#endif
}

/// The unit in which the operating system gives and protects memory.
constexpr std::size_t kPage = 4096;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Where memory lies that the host must not read: device memory, and what tokens stand for. A
/// filter of system calls knows it by the upper half of an address.
constexpr std::uintptr_t kWithheldBegin = std::uintptr_t{0x2000} << 32U;
constexpr std::uintptr_t kWithheldEnd = std::uintptr_t{0x2200} << 32U;

/// Addresses without access, from `place` on if these are free. @return or MAP_FAILED
inline void* reserve(std::uintptr_t place, std::size_t bytes) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): nothing lies there yet
  return mmap(reinterpret_cast<void*>(place), bytes, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
/// Whether the pages of withheld memory now have this protection.
inline bool protect(void* begin, std::size_t bytes, int protection) {
  return keyed_call(SYS_mprotect, reinterpret_cast<std::intptr_t>(begin),
                    reinterpret_cast<const void*>(bytes), protection) == 0;
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
  /// Whether a piece lies there, in part.
  [[nodiscard]] bool meets(const std::byte* begin, std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(pieces_, [&](const auto& piece) {
      return piece.first < begin + bytes && begin < piece.first + piece.second;
    });
  }
  template <typename Condition>
  void remove_if(Condition condition) {
    const std::lock_guard lock(mutex_);
    std::erase_if(pieces_, [&](const auto& piece) { return condition(piece.first, piece.second); });
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

}  // namespace convlab::emulation
