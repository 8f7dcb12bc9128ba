#pragma once

// What the memory does with one request of a warp.

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/emulation/include/convlab_emulation/collective.hpp"

namespace convlab::emulation {

enum class Space : std::uint8_t { kOther, kGlobal, kShared, kConstant };

/// The lanes of a warp that make one access together.
struct Request {
  std::uint32_t mask = 0;
  std::array<std::uintptr_t, kWarpSize> address{};
};

/// The parts that the memory answers one after the other (AccessNote::parts), and of these the
/// conflicts.
struct Parts {
  int all = 0;
  int conflicts = 0;
};

/// @param bytes  of each lane's access
Parts parts_of(const Request& request, Space space, std::size_t bytes, bool atomic);

}  // namespace convlab::emulation
