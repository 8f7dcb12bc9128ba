#pragma once

#include <cstddef>

namespace convlab::emulation {

/// Fills new memory: NaN as a float, double or half, -1 as an integer.
inline constexpr int kPoisonByte = 0xff;

/// Fills the bytes around device and shared memory, so that writes there are found.
inline constexpr int kRedzoneByte = 0xa5;
inline constexpr std::byte kRedzone{kRedzoneByte};

}  // namespace convlab::emulation
