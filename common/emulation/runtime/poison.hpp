#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/emulation/runtime/settings.hpp"

namespace convlab::emulation {

/// Fills new memory: NaN as a float, double or half, -1 as an integer.
inline constexpr int kPoisonByte = 0xff;

/// Surrounds arrays: words that are NaN as float, double, half and bfloat16, so that a result shows
/// that it was computed from one. They are not poison, so that writes there are found, and
/// neighbours have others, so that what a thread reads beside one array is found where it stores it
/// beside another.
struct Redzone {
  std::byte even{0xf0};  ///< at an even address
  std::byte odd{0xff};

  /// Of an allocation with this number.
  static Redzone of(std::uint64_t number) {
    constexpr std::uint64_t kKinds = 14;  // f1 to fe: ff is poison
    return {static_cast<std::byte>(0xf1 + number % kKinds)};
  }
  /// Whether a word is from one.
  static bool holds(std::uint32_t word) {
    return (word | 0x000f'000fU) == ~0U && word >> 16U == (word & 0xffffU) && word != ~0U;
  }

  [[nodiscard]] std::byte at(const std::byte* place) const {
    return reinterpret_cast<std::uintptr_t>(place) % 2 == 0 ? even : odd;
  }
  void fill(std::byte* begin, const std::byte* end) const {
    const auto bytes = static_cast<std::size_t>(end - begin);
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes, 2); ++i) begin[i] = at(begin + i);
    for (std::size_t done = 2; done < bytes; done *= 2)
      std::memcpy(begin + done, begin, std::min(done, bytes - done));
  }
  /// The first byte in the range that is another one, or null.
  [[nodiscard]] const std::byte* first_other(const std::byte* begin, const std::byte* end) const {
    // Fast: if the first two are right and each equals the one after the next, all are right.
    const auto bytes = static_cast<std::size_t>(end - begin);
    if (bytes > 2 && begin[0] == at(begin) && begin[1] == at(begin + 1) &&
        std::memcmp(begin, begin + 2, bytes - 2) == 0)
      return nullptr;
    for (; begin != end; ++begin)
      if (*begin != at(begin)) return begin;
    return nullptr;
  }
};

// With CONVLAB_EMU_POISON=numbered each 32-bit word of new memory holds a NaN of its own. A
// processor hands the low bits of a NaN on from operand to result, so a result tells from which
// word it was computed:
//
//     1 11111111 1 | mixed: (shared memory: 1 bit | object: 3 bits | word + 1: 18 bits)
//
// Behind the first MiB the numbers begin again.
//
// Mixed, because small negative integers and the opaque colours of a picture look like NaN, too:
// of these, few name a word that there is.
// Source: IEEE 754-2019, 6.2.3 (NaN propagation).
inline constexpr std::uint32_t kNumbered = 0xffc0'0000;
inline constexpr unsigned kSharedShift = 21;
inline constexpr unsigned kObjectShift = 18;
inline constexpr std::uint32_t kIndexMask = (1U << kObjectShift) - 1;
inline constexpr std::size_t kNumbers = kIndexMask - 1;
inline constexpr std::int64_t kNumberedBytes = kNumbers * sizeof(std::uint32_t);
inline constexpr unsigned kPoisonObjects = 8;  ///< numbers of objects count modulo this
inline constexpr unsigned kConstantObject = kPoisonObjects - 2;  ///< all constant variables

// A bijection of 22 bits that leaves -1 as it is, and its inverse.
inline constexpr std::uint32_t kMixedMask = ~kNumbered;
inline constexpr std::uint32_t kMixing = 0x2b'4e8d;
inline constexpr std::uint32_t kUnmixing = [] {
  std::uint32_t inverse = kMixing;  // each step doubles the number of right bits
  for (int i = 0; i < 5; ++i) inverse *= 2 - kMixing * inverse;
  return inverse;
}();
inline constexpr std::uint32_t mix(std::uint32_t bits, std::uint32_t factor) {
  return ~(~bits * factor) & kMixedMask;
}
static_assert(mix(mix(12345, kMixing), kUnmixing) == 12345);

struct PoisonedWord {
  bool shared = false;
  unsigned object = 0;
  std::int64_t offset = 0;  ///< in bytes, modulo kNumberedBytes

  friend bool operator==(const PoisonedWord&, const PoisonedWord&) = default;
};

/// What new memory holds in its word `index`.
/// @param object  the number of the allocation, or of the variable of shared memory
inline constexpr std::uint32_t numbered_word(unsigned object, bool shared, std::size_t index) {
  return kNumbered |
         mix((shared ? 1U : 0U) << kSharedShift | object % kPoisonObjects << kObjectShift |
                 static_cast<std::uint32_t>(index % kNumbers + 1),
             kMixing);
}

/// Fills new memory as the settings say.
inline void fill_poison(std::byte* begin, std::size_t bytes, unsigned object, bool shared) {
  std::memset(begin, settings().zeros_in_memory ? 0 : kPoisonByte, bytes);
  if (!settings().numbered_poison) return;
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  const std::size_t whole = bytes / kWord * kWord;
  for (std::size_t i = 0; i < whole / kWord && i < kNumbers; ++i) {
    const std::uint32_t word = numbered_word(object, shared, i);
    std::memcpy(begin + i * kWord, &word, kWord);
  }
  for (std::size_t done = kNumberedBytes; done < whole; done += kNumberedBytes)
    std::memcpy(begin + done, begin, std::min<std::size_t>(kNumberedBytes, whole - done));
}

/// Whether these bytes, from `offset` on, are as fill_poison left them.
inline bool is_untouched(const std::byte* begin, std::size_t offset, std::size_t bytes,
                         unsigned object, bool shared) {
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  for (std::size_t at = offset; at < offset + bytes; ++at) {
    const std::uint32_t word = numbered_word(object, shared, at / kWord);
    if (std::memcmp(begin + at, reinterpret_cast<const char*>(&word) + at % kWord, 1) != 0)
      return false;
  }
  return true;
}

/// Whether the running kernel finds these bytes as fill_poison left them, numbered
/// (collective.cpp).
bool is_unwritten(const void* address, std::size_t bytes);

/// Whether a float is numbered poison, or was computed from it.
inline bool read_poison(std::uint32_t bits, PoisonedWord& word) {
  // The NaN of an invalid operation has no index.
  if ((bits & kNumbered) != kNumbered || bits == kNumbered || Redzone::holds(bits)) return false;
  const std::uint32_t head = mix(bits, kUnmixing);
  const std::uint32_t index = head & kIndexMask;
  if (index == 0 || index == kIndexMask) return false;
  word = {.shared = (head >> kSharedShift & 1U) != 0,
          .object = head >> kObjectShift & (kPoisonObjects - 1),
          .offset = (std::int64_t{index} - 1) * static_cast<std::int64_t>(sizeof(std::uint32_t))};
  return true;
}

}  // namespace convlab::emulation
