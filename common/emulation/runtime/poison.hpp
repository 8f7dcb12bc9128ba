#pragma once

#include <cstddef>

namespace convlab::emulation {

/// Fills memory that nobody wrote yet: NaN as a float, double or half, -1 as an integer.
inline constexpr int kPoisonByte = 0xff;

/// Fills the surroundings of device and shared memory, so that a write there is noticed.
inline constexpr int kRedzoneByte = 0xa5;
inline constexpr std::byte kRedzone{kRedzoneByte};

}  // namespace convlab::emulation
