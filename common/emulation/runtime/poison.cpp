#include "common/emulation/runtime/poison.hpp"

#include <cstring>

#include "common/emulation/runtime/settings.hpp"

namespace convlab::emulation {
namespace {

constexpr std::uint32_t kNumbered = 0xffc0'0000;
constexpr unsigned kSharedShift = 21;
constexpr unsigned kObjectShift = 18;
constexpr std::uint32_t kIndexMask = (1U << kObjectShift) - 1;

}  // namespace

void fill_poison(std::byte* begin, std::size_t bytes, unsigned object, bool shared) {
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

bool read_poison(std::uint32_t bits, PoisonedWord& word) {
  // The NaN of an invalid operation has no index, nor have words beyond the largest one.
  const std::uint32_t index = bits & kIndexMask;
  if ((bits & kNumbered) != kNumbered || index == 0 || index == kIndexMask) return false;
  word = {.shared = (bits >> kSharedShift & 1U) != 0,
          .object = bits >> kObjectShift & (kPoisonObjects - 1),
          .offset = (std::int64_t{index} - 1) * static_cast<std::int64_t>(sizeof(std::uint32_t))};
  return true;
}

}  // namespace convlab::emulation
