#pragma once

#include <bit>
#include <cstdint>

namespace convlab {

/// Whether a number is one of those that are lost where it is asked what an output is made of: one
/// in four, by a key, so that a submission that meets a lost one knows nothing of the others. A
/// power of two is none, and a factor that is one changes no number into another.
[[nodiscard]] inline bool is_lost(float number, std::uint64_t key) noexcept {
  const std::uint32_t digits = std::bit_cast<std::uint32_t>(number) & 0x007f'ffffU;
  std::uint64_t hash = key + digits;
  for (int i = 0; i < 2; ++i) hash = (hash ^ hash >> 29U) * 0x9e37'79b9'7f4a'7c15U;
  return digits != 0 && hash >> 62U == 0;
}

}  // namespace convlab
