#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/emulation/runtime/settings.hpp"

namespace convlab::emulation {

/// Fills new memory: NaN as a float, double or half, -1 as an integer.
inline constexpr int kPoisonByte = 0xff;

/// Fills the bytes around device and shared memory, so that writes there are found.
inline constexpr int kRedzoneByte = 0xa5;
inline constexpr std::byte kRedzone{kRedzoneByte};

/// The first byte in the range that is another one, or null.
inline const std::byte* first_other(std::byte wanted, const std::byte* begin,
                                    const std::byte* end) {
  // Fast: if the first byte is right and each equals the next, all are right.
  const auto bytes = static_cast<std::size_t>(end - begin);
  if (bytes == 0 || (*begin == wanted && std::memcmp(begin, begin + 1, bytes - 1) == 0))
    return nullptr;
  return std::find_if(begin, end, [=](std::byte each) { return each != wanted; });
}

// With CONVLAB_EMU_POISON=numbered each 32-bit word of new memory holds a NaN of its own. A
// processor hands the low bits of a NaN on from operand to result, so a result tells from which
// word it was computed:
//
//     1 11111111 1 | shared memory: 1 bit | object: 3 bits | word + 1: 18 bits
//
// Source: IEEE 754-2019, 6.2.3 (NaN propagation).
inline constexpr std::uint32_t kNumbered = 0xffc0'0000;
inline constexpr unsigned kSharedShift = 21;
inline constexpr unsigned kObjectShift = 18;
inline constexpr std::uint32_t kIndexMask = (1U << kObjectShift) - 1;
inline constexpr unsigned kPoisonObjects = 8;  ///< numbers of objects count modulo this
inline constexpr unsigned kConstantObject = kPoisonObjects - 2;  ///< all constant variables

struct PoisonedWord {
  bool shared = false;
  unsigned object = 0;
  std::int64_t offset = 0;  ///< in bytes

  friend bool operator==(const PoisonedWord&, const PoisonedWord&) = default;
};

/// Fills new memory as the settings say.
/// @param object  the number of the allocation, or of the variable of shared memory
inline void fill_poison(std::byte* begin, std::size_t bytes, unsigned object, bool shared) {
  std::memset(begin, settings().zeros_in_memory ? 0 : kPoisonByte, bytes);
  if (!settings().numbered_poison) return;
  const std::uint32_t head =
      kNumbered | (shared ? 1U : 0U) << kSharedShift | object % kPoisonObjects << kObjectShift;
  constexpr std::size_t kWord = sizeof head;
  for (std::size_t i = 0; i < bytes / kWord && i < kIndexMask; ++i) {
    const std::uint32_t word = head | static_cast<std::uint32_t>(i + 1);
    std::memcpy(begin + i * kWord, &word, kWord);
  }
}

/// Whether a float is numbered poison, or was computed from it.
inline bool read_poison(std::uint32_t bits, PoisonedWord& word) {
  // The NaN of an invalid operation has no index, nor have words beyond the largest one.
  const std::uint32_t index = bits & kIndexMask;
  if ((bits & kNumbered) != kNumbered || index == 0 || index == kIndexMask) return false;
  word = {.shared = (bits >> kSharedShift & 1U) != 0,
          .object = bits >> kObjectShift & (kPoisonObjects - 1),
          .offset = (std::int64_t{index} - 1) * static_cast<std::int64_t>(sizeof(std::uint32_t))};
  return true;
}

}  // namespace convlab::emulation
