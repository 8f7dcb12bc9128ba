#pragma once

// Device functions that the workbook does not use itself: atomic operations on vectors and with
// scopes, bits, and what kind of memory an address belongs to.
// Source: CUDA C++ Programming Guide, Atomic Functions, Address Space Predicate Functions; CUDA
// Math API, Integer Intrinsics.

#include <cstdint>

#include "common/emulation/include/convlab_emulation/atomics.hpp"
#include "common/emulation/include/convlab_emulation/symbols.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are CUDA's

/// Each of the numbers is added atomically, not all of them together.
inline float2 atomicAdd(float2* address, float2 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
inline float4 atomicAdd(float4* address, float4 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y),
          atomicAdd(&address->z, value.z), atomicAdd(&address->w, value.w)};
}

/// The position of a set bit of `mask`, counted from bit `base`: the offset-th upwards, for a
/// negative offset downwards, for 0 the base itself. 0xffffffff if there is none.
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  constexpr unsigned kNone = 0xffffffffU;
  constexpr unsigned kBits = 32;
  const int step = offset < 0 ? -1 : 1;
  int left = offset == 0 ? 1 : (offset < 0 ? -offset : offset);
  for (unsigned bit = base; bit < kBits; bit += static_cast<unsigned>(step)) {
    if (((mask >> bit) & 1U) != 0 && --left == 0) return bit;
    if (offset == 0) break;
  }
  return kNone;
}

/// An address belongs to shared memory, to the stack of the thread, to constant or else to global
/// memory.
inline unsigned __isShared(const void* address) {
  return convlab::emulation::is_shared(address) ? 1U : 0U;
}
inline unsigned __isLocal(const void* address) {
  constexpr std::uintptr_t kStack = std::uintptr_t{128} << 10U;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const auto there = reinterpret_cast<std::uintptr_t>(address);
  return (there > here ? there - here : here - there) < kStack ? 1U : 0U;
}
inline unsigned __isConstant(const void* address) {
  return convlab::emulation::is_constant(address) ? 1U : 0U;
}
inline unsigned __isGlobal(const void* address) {
  const bool elsewhere = __isShared(address) != 0 || __isLocal(address) != 0;
  return elsewhere || __isConstant(address) != 0 ? 0U : 1U;
}

// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
