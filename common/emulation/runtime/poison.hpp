#pragma once

#include <cstddef>
#include <cstdint>

namespace convlab::emulation {

/// Fills new memory: NaN as a float, double or half, -1 as an integer.
inline constexpr int kPoisonByte = 0xff;

/// Fills the bytes around device and shared memory, so that writes there are found.
inline constexpr int kRedzoneByte = 0xa5;
inline constexpr std::byte kRedzone{kRedzoneByte};

// With CONVLAB_EMU_POISON=numbered each 32-bit word of new memory holds a NaN of its own. A
// processor hands the low bits of a NaN on from operand to result, so a result tells from which
// word it was computed:
//
//     1 11111111 1 | shared memory: 1 bit | object: 3 bits | word + 1: 18 bits
//
// Source: IEEE 754-2019, 6.2.3 (NaN propagation).
inline constexpr unsigned kPoisonObjects = 8;  ///< numbers of objects count modulo this

struct PoisonedWord {
  bool shared = false;
  unsigned object = 0;
  std::int64_t offset = 0;  ///< in bytes

  friend bool operator==(const PoisonedWord&, const PoisonedWord&) = default;
};

/// Fills new memory as the settings say.
/// @param object  the number of the allocation, or of the variable of shared memory
void fill_poison(std::byte* begin, std::size_t bytes, unsigned object, bool shared);

/// Whether a float is numbered poison, or was computed from it.
bool read_poison(std::uint32_t bits, PoisonedWord& word);

}  // namespace convlab::emulation
