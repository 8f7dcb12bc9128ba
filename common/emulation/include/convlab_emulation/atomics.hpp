#pragma once

// Atomic functions. The threads of a block run on one core, and blocks that change global memory
// atomically take their turns in grid order (take_turn): a plain read and write is then atomic, and
// floating-point sums do not depend on the number of cores.
// Source: CUDA C++ Programming Guide, Atomic Functions.

#include <type_traits>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"

namespace convlab::emulation {

/// Tells the observer that accesses belong together.
class AtomicAccess {
 public:
  [[gnu::always_inline]] AtomicAccess(const void* address, std::size_t bytes, bool orders) {
    begin_atomic(address, bytes, orders);
  }
  AtomicAccess(const AtomicAccess&) = delete;
  AtomicAccess& operator=(const AtomicAccess&) = delete;
  ~AtomicAccess() { end_atomic(); }
};

/// Replaces *address by change(*address) and returns the former value. Inlined, like all functions
/// that call it, so that the observer learns the line of the kernel.
/// @param orders  whether it is also a fence
template <typename T, typename Change>
[[gnu::always_inline]] inline T atomic_update(T* address, Change change, bool orders = false) {
  if (!is_shared(address)) take_turn();
  const AtomicAccess access(address, sizeof(T), orders);
  const T old = *address;
  *address = change(old);
  return old;
}

template <typename T, typename... Types>
using IfOneOf = std::enable_if_t<kIsOneOf<T, Types...>>;
template <typename T>
using IfAtomicInteger = IfOneOf<T, int, unsigned, long long, unsigned long long>;

}  // namespace convlab::emulation

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

template <typename T, convlab::emulation::IfOneOf<T, float, double>* = nullptr>
[[gnu::always_inline]] inline T atomicAdd(T* address, convlab::emulation::AsIs<T> value) {
  return convlab::emulation::atomic_update(address, [=](T old) { return old + value; });
}

// Two's complement sums wrap around, as on a GPU.
template <typename T, convlab::emulation::IfOneOf<T, int, unsigned, unsigned long long>* = nullptr>
[[gnu::always_inline]] inline T atomicAdd(T* address, convlab::emulation::AsIs<T> value) {
  using U = std::make_unsigned_t<T>;
  return convlab::emulation::atomic_update(
      address, [=](T old) { return static_cast<T>(static_cast<U>(old) + static_cast<U>(value)); });
}
template <typename T, typename = convlab::emulation::IfOneOf<T, int, unsigned>>
[[gnu::always_inline]] inline T atomicSub(T* address, convlab::emulation::AsIs<T> value) {
  return convlab::emulation::atomic_update(address, [=](T old) {
    return static_cast<T>(static_cast<unsigned>(old) - static_cast<unsigned>(value));
  });
}
template <typename T, typename = convlab::emulation::IfOneOf<T, int, unsigned, long long,
                                                             unsigned long long, float>>
[[gnu::always_inline]] inline T atomicExch(T* address, convlab::emulation::AsIs<T> value) {
  return convlab::emulation::atomic_update(address, [=](T) { return value; });
}
template <typename T, typename = convlab::emulation::IfOneOf<T, int, unsigned, long long,
                                                             unsigned long long, unsigned short>>
[[gnu::always_inline]] inline T atomicCAS(T* address, convlab::emulation::AsIs<T> compare,
                                          convlab::emulation::AsIs<T> value) {
  convlab::emulation::observe_verification(address);
  return convlab::emulation::atomic_update(address,
                                           [=](T old) { return old == compare ? value : old; });
}
#define CONVLAB_ATOMIC_INTEGER(name, expression)                                          \
  template <typename T, typename = convlab::emulation::IfAtomicInteger<T>>                \
  [[gnu::always_inline]] inline T name(T* address, convlab::emulation::AsIs<T> value) {   \
    return convlab::emulation::atomic_update(address, [=](T old) { return expression; }); \
  }
CONVLAB_ATOMIC_INTEGER(atomicMin, value < old ? value : old)
CONVLAB_ATOMIC_INTEGER(atomicMax, value > old ? value : old)
CONVLAB_ATOMIC_INTEGER(atomicAnd, old& value)
CONVLAB_ATOMIC_INTEGER(atomicOr, old | value)
CONVLAB_ATOMIC_INTEGER(atomicXor, old ^ value)
#undef CONVLAB_ATOMIC_INTEGER
[[gnu::always_inline]] inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return convlab::emulation::atomic_update(
      address, [=](unsigned old) { return old >= limit ? 0 : old + 1; });
}
[[gnu::always_inline]] inline unsigned atomicDec(unsigned* address, unsigned limit) {
  return convlab::emulation::atomic_update(
      address, [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}

#define CONVLAB_ATOMIC_SCOPES(name)                                             \
  template <typename T, typename... Values>                                     \
  [[gnu::always_inline]] inline T name##_block(T* address, Values... values) {  \
    return name(address, values...);                                            \
  }                                                                             \
  template <typename T, typename... Values>                                     \
  [[gnu::always_inline]] inline T name##_system(T* address, Values... values) { \
    return name(address, values...);                                            \
  }
CONVLAB_ATOMIC_SCOPES(atomicAdd)
CONVLAB_ATOMIC_SCOPES(atomicSub)
CONVLAB_ATOMIC_SCOPES(atomicMin)
CONVLAB_ATOMIC_SCOPES(atomicMax)
CONVLAB_ATOMIC_SCOPES(atomicExch)
CONVLAB_ATOMIC_SCOPES(atomicCAS)
CONVLAB_ATOMIC_SCOPES(atomicAnd)
CONVLAB_ATOMIC_SCOPES(atomicOr)
CONVLAB_ATOMIC_SCOPES(atomicXor)
CONVLAB_ATOMIC_SCOPES(atomicInc)
CONVLAB_ATOMIC_SCOPES(atomicDec)
#undef CONVLAB_ATOMIC_SCOPES

// NOLINTEND(readability-identifier-naming)
