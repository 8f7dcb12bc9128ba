#pragma once

// Device functions on memory and time: atomic operations, fences, cached loads, clocks; and traps.
//
// The threads of a block run on one core, and blocks that change global memory
// atomically take their turns in grid order (take_turn): a plain read and write is then atomic, and
// floating-point sums do not depend on the number of cores.
// Source: CUDA C++ Programming Guide, Atomic Functions.

#include <type_traits>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

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

/// 0 with its sign in place of a subnormal number.
[[gnu::always_inline]] inline float flushed(float x) {
  constexpr float kLeastNormal = 0x1p-126F;
  return x < kLeastNormal && x > -kLeastNormal ? 0 * x : x;
}

// Integers wrap round, as on a GPU.
template <typename T, typename Value>
[[gnu::always_inline]] constexpr T wrapped_sum(T a, Value b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                          static_cast<std::make_unsigned_t<T>>(b));
  else
    return static_cast<T>(a + b);
}
template <typename T, typename Value>
[[gnu::always_inline]] constexpr T wrapped_difference(T a, Value b) {
  if constexpr (std::is_integral_v<T>)
    return wrapped_sum(a, 0 - static_cast<std::make_unsigned_t<T>>(b));
  else
    return static_cast<T>(a - b);
}

template <typename T, typename... Types>
using IfOneOf = std::enable_if_t<kIsOneOf<T, Types...>>;
template <typename T>
using IfAtomicInteger = IfOneOf<T, int, unsigned, long long, unsigned long long>;

/// Nanoseconds of the host.
[[nodiscard]] long long host_nanoseconds();

[[noreturn]] void trap(CallSite site);
[[noreturn]] void exceed_launch_bounds(long long most_threads, CallSite site);

/// The first statement of a kernel with __launch_bounds__, put there by the rewrite: only here do
/// template arguments have their values.
inline void check_launch_bounds(long long most_threads, long long /*least_blocks*/ = 0,
                                long long /*most_blocks_of_cluster*/ = 0, CONVLAB_CALL_SITE) {
  const long long threads = static_cast<long long>(blockDim.x) * blockDim.y * blockDim.z;
  if (threads > most_threads) exceed_launch_bounds(most_threads, site);
}

}  // namespace convlab::emulation

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are CUDA's

template <typename T, typename = convlab::emulation::IfOneOf<T, int, unsigned, unsigned long long,
                                                             float, double>>
[[gnu::always_inline]] inline T atomicAdd(T* address, convlab::emulation::AsIs<T> value) {
  using namespace convlab::emulation;
  // Global memory adds floats without subnormal numbers, shared memory with them.
  if constexpr (std::is_same_v<T, float>)
    if (!is_shared(address))
      return atomic_update(address, [=](T old) { return flushed(flushed(old) + flushed(value)); });
  return atomic_update(address, [=](T old) { return wrapped_sum(old, value); });
}
template <typename T, typename = convlab::emulation::IfOneOf<T, int, unsigned>>
[[gnu::always_inline]] inline T atomicSub(T* address, convlab::emulation::AsIs<T> value) {
  return convlab::emulation::atomic_update(
      address, [=](T old) { return convlab::emulation::wrapped_difference(old, value); });
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

// ---- fences, caches, clocks, traps --------------------------------------------------------------

inline void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  convlab::emulation::observe_fence();
}
inline void __threadfence_block() {
  __threadfence();
}
inline void __threadfence_system() {
  __threadfence();
}

// Caches are not emulated: every load and store with a cache operator is a plain one.
#define CONVLAB_CACHED_LOAD(name)              \
  template <typename T>                        \
  std::remove_cv_t<T> name(const T* address) { \
    return *address;                           \
  }
CONVLAB_CACHED_LOAD(__ldg)
CONVLAB_CACHED_LOAD(__ldca)
CONVLAB_CACHED_LOAD(__ldcg)
CONVLAB_CACHED_LOAD(__ldcs)
CONVLAB_CACHED_LOAD(__ldcv)
CONVLAB_CACHED_LOAD(__ldlu)
#undef CONVLAB_CACHED_LOAD

#define CONVLAB_CACHED_STORE(name)                           \
  template <typename T>                                      \
  void name(T* address, convlab::emulation::AsIs<T> value) { \
    *address = value;                                        \
  }
CONVLAB_CACHED_STORE(__stwb)
CONVLAB_CACHED_STORE(__stcg)
CONVLAB_CACHED_STORE(__stcs)
CONVLAB_CACHED_STORE(__stwt)
#undef CONVLAB_CACHED_STORE

/// Nanoseconds of the host: grows, but says nothing about a GPU's cycles.
inline long long clock64() {
  return convlab::emulation::host_nanoseconds();
}

inline void __nanosleep(unsigned /*nanoseconds*/) {}
inline void __prof_trigger(int /*counter*/) {}

[[noreturn]] inline void __trap(CONVLAB_CALL_SITE) {
  convlab::emulation::trap(site);
}

// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
