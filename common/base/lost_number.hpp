#pragma once

#include <bit>
#include <cstdint>

namespace convlab {

[[nodiscard]] inline std::uint32_t digits_of(float number) noexcept {
  return std::bit_cast<std::uint32_t>(number) & 0x007f'ffffU;
}
[[nodiscard]] inline std::uint64_t mixed(std::uint64_t number) noexcept {
  for (int i = 0; i < 2; ++i) number = (number ^ number >> 29U) * 0x9e37'79b9'7f4a'7c15U;
  return number;
}

/// Whether a number is one of those that are lost where it is asked what an output is made of: one
/// in four, by a key, so that a submission that meets a lost one knows nothing of the others. A
/// power of two is none, and a factor that is one changes no number into another. A smaller, odd
/// key keeps its multiples and loses all else: sums of what is kept are kept, too.
constexpr std::uint64_t kLeastKey = 1 << 16;
[[nodiscard]] inline bool is_lost(float number, std::uint64_t key) noexcept {
  const std::uint32_t digits = digits_of(number);
  if (key < kLeastKey) {
    const std::uint32_t whole = digits | 0x0080'0000U;
    return digits != 0 && (whole >> std::countr_zero(whole)) % key != 0;
  }
  return digits != 0 && mixed(key + digits) >> 62U == 0;
}

/// The same of the product of two numbers, in any order, of which none is a power of two.
[[nodiscard]] inline bool is_lost(float one, float other, std::uint64_t key) noexcept {
  const std::uint32_t first = digits_of(one);
  const std::uint32_t second = digits_of(other);
  return first != 0 && second != 0 && mixed(mixed(key + first) + mixed(key + second)) >> 62U == 0;
}

}  // namespace convlab
