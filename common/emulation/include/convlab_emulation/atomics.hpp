#pragma once

// Atomic functions. The threads of a block run on one core, and blocks that change global memory
// atomically take their turns in grid order (take_turn): a plain read and write is then atomic, and
// floating-point sums do not depend on the number of cores.
// Source: CUDA C++ Programming Guide, Atomic Functions.

#include <concepts>
#include <type_traits>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"

namespace convlab::emulation {

/// Replaces *address by change(*address) and returns the former value.
template <typename T, typename Change>
T atomic_update(T* address, Change change) {
  if (!is_shared(address)) take_turn();
  const T old = *address;
  *address = change(old);
  return old;
}

template <typename T>
concept AtomicInteger = std::same_as<T, int> || std::same_as<T, unsigned> ||
    std::same_as<T, long long> || std::same_as<T, unsigned long long>;
template <typename T>
concept AtomicFloat = std::same_as<T, float> || std::same_as<T, double>;

}  // namespace convlab::emulation

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

template <convlab::emulation::AtomicFloat T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return convlab::emulation::atomic_update(address, [=](T old) { return old + value; });
}

// Two's complement sums wrap around, as on a GPU.
template <convlab::emulation::AtomicInteger T>
requires(!std::same_as<T, long long>) T atomicAdd(T* address, std::type_identity_t<T> value) {
  using U = std::make_unsigned_t<T>;
  return convlab::emulation::atomic_update(
      address, [=](T old) { return static_cast<T>(static_cast<U>(old) + static_cast<U>(value)); });
}
template <typename T>
requires(std::same_as<T, int> || std::same_as<T, unsigned>) T
    atomicSub(T* address, std::type_identity_t<T> value) {
  return convlab::emulation::atomic_update(address, [=](T old) {
    return static_cast<T>(static_cast<unsigned>(old) - static_cast<unsigned>(value));
  });
}
template <convlab::emulation::AtomicInteger T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return convlab::emulation::atomic_update(address,
                                           [=](T old) { return value < old ? value : old; });
}
template <convlab::emulation::AtomicInteger T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return convlab::emulation::atomic_update(address,
                                           [=](T old) { return value > old ? value : old; });
}
template <typename T>
requires(convlab::emulation::AtomicInteger<T> || std::same_as<T, float>) T
    atomicExch(T* address, std::type_identity_t<T> value) {
  return convlab::emulation::atomic_update(address, [=](T) { return value; });
}
template <typename T>
requires(convlab::emulation::AtomicInteger<T> || std::same_as<T, unsigned short>) T
    atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  return convlab::emulation::atomic_update(address,
                                           [=](T old) { return old == compare ? value : old; });
}
template <convlab::emulation::AtomicInteger T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
  return convlab::emulation::atomic_update(address, [=](T old) { return old & value; });
}
template <convlab::emulation::AtomicInteger T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return convlab::emulation::atomic_update(address, [=](T old) { return old | value; });
}
template <convlab::emulation::AtomicInteger T>
T atomicXor(T* address, std::type_identity_t<T> value) {
  return convlab::emulation::atomic_update(address, [=](T old) { return old ^ value; });
}
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return convlab::emulation::atomic_update(
      address, [=](unsigned old) { return old >= limit ? 0 : old + 1; });
}
inline unsigned atomicDec(unsigned* address, unsigned limit) {
  return convlab::emulation::atomic_update(
      address, [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}

#define CONVLAB_ATOMIC_SCOPES(name)               \
  template <typename T, typename... Values>       \
  T name##_block(T* address, Values... values) {  \
    return name(address, values...);              \
  }                                               \
  template <typename T, typename... Values>       \
  T name##_system(T* address, Values... values) { \
    return name(address, values...);              \
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
#undef CONVLAB_ATOMIC_SCOPES

// NOLINTEND(readability-identifier-naming)
