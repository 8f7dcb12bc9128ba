#pragma once

// Device functions on memory and time: atomic operations, fences, cached loads, clocks; and traps.
//
// The threads of a block run on one core, and blocks that change global memory
// atomically take their turns in grid order (take_turn): a plain read and write is then atomic, and
// floating-point sums do not depend on the number of cores.
// Source: CUDA C++ Programming Guide, Atomic Functions.

#include <cstring>
#include <type_traits>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

namespace convlab::emulation {

/// Tells the observer that accesses belong together.
class AtomicAccess {
 public:
  [[gnu::always_inline]] AtomicAccess(const void* address, std::size_t bytes, unsigned kind) {
    begin_atomic(address, bytes, kind);
  }
  AtomicAccess(const AtomicAccess&) = delete;
  AtomicAccess& operator=(const AtomicAccess&) = delete;
  ~AtomicAccess() { end_atomic(); }
};

/// Replaces *address by change(*address) and returns the former value. Inlined, like all functions
/// that call it, so that the observer learns the line of the kernel.
/// @param kind  of AtomicKind
template <typename T, typename Change>
[[gnu::always_inline]] inline auto atomic_update(T* address, Change change, unsigned kind = 0) {
  if (!is_shared(address)) take_turn();
  const AtomicAccess access(address, sizeof(T), kind);
  const T old = *address;
  *address = change(old);
  return old;
}
template <typename T>
[[gnu::always_inline]] inline auto atomic_read(const T* address, unsigned kind) {
  if (!is_shared(address)) take_turn();
  const AtomicAccess access(address, sizeof(T), kind | kAtomicReads);
  return *address;
}

/// 0 with its sign in place of a subnormal number.
[[gnu::always_inline]] inline float flushed(float x) {
  constexpr float kLeastNormal = 0x1p-126F;
  return x < kLeastNormal && x > -kLeastNormal ? 0 * x : x;
}

// Integers wrap round, as on a GPU.
template <typename T, typename Value>
[[gnu::always_inline]] constexpr auto wrapped_sum(T a, Value b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                          static_cast<std::make_unsigned_t<T>>(b));
  else
    return static_cast<T>(a + b);
}
template <typename T, typename Value>
[[gnu::always_inline]] constexpr auto wrapped_difference(T a, Value b) {
  if constexpr (std::is_integral_v<T>)
    return wrapped_sum(a, 0 - static_cast<std::make_unsigned_t<T>>(b));
  else
    return static_cast<T>(a - b);
}

/// Global memory adds floats without subnormal numbers, shared memory with them.
template <typename T>
[[gnu::always_inline]] inline auto atomic_sum(const T* address, T old, T value) {
  if constexpr (std::is_same_v<T, float>)
    if (!is_shared(address)) return flushed(flushed(old) + flushed(value));
  return wrapped_sum(old, value);
}

template <typename T>
[[nodiscard]] auto same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

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

// Overloads, not templates: arguments of other types convert to theirs, as with nvcc. Each exists
// for the device, for a block and for the system.
#define CONVLAB_ATOMIC_IN(T, name, kind, parameters, expression)                            \
  [[gnu::always_inline]] inline T name parameters {                                         \
    return convlab::emulation::atomic_update(                                               \
        address, [=]([[maybe_unused]] T old) { return static_cast<T>(expression); }, kind); \
  }
#define CONVLAB_ATOMIC_OF(T, name, kind, parameters, expression)                              \
  CONVLAB_ATOMIC_IN(T, name, kind, parameters, expression)                                    \
  CONVLAB_ATOMIC_IN(T, name##_block, convlab::emulation::kAtomicInBlock | (kind), parameters, \
                    expression)                                                               \
  CONVLAB_ATOMIC_IN(T, name##_system, kind, parameters, expression)
#define CONVLAB_ATOMIC(T, name, parameters, expression) \
  CONVLAB_ATOMIC_OF(T, name, 0U, parameters, expression)
#define CONVLAB_ATOMIC_ADD(T)                          \
  CONVLAB_ATOMIC(T, atomicAdd, (T * address, T value), \
                 convlab::emulation::atomic_sum(address, old, value))
#define CONVLAB_ATOMIC_SUB(T)                          \
  CONVLAB_ATOMIC(T, atomicSub, (T * address, T value), \
                 convlab::emulation::wrapped_difference(old, value))
#define CONVLAB_ATOMIC_EXCH(T) \
  CONVLAB_ATOMIC_OF(T, atomicExch, convlab::emulation::kAtomicStores, (T * address, T value), value)
#define CONVLAB_ATOMIC_CAS_IN(T, name, kind)                                 \
  [[gnu::always_inline]] inline T name(T* address, T compare, T value) {     \
    convlab::emulation::observe_verification(address);                       \
    return convlab::emulation::atomic_update(                                \
        address, [=](T old) { return old == compare ? value : old; }, kind); \
  }
#define CONVLAB_ATOMIC_CAS(T)                                                   \
  CONVLAB_ATOMIC_CAS_IN(T, atomicCAS, 0)                                        \
  CONVLAB_ATOMIC_CAS_IN(T, atomicCAS_block, convlab::emulation::kAtomicInBlock) \
  CONVLAB_ATOMIC_CAS_IN(T, atomicCAS_system, 0)
#define CONVLAB_ATOMIC_INTEGER(T)                                                 \
  CONVLAB_ATOMIC_EXCH(T)                                                          \
  CONVLAB_ATOMIC_CAS(T)                                                           \
  CONVLAB_ATOMIC(T, atomicMin, (T * address, T value), value < old ? value : old) \
  CONVLAB_ATOMIC(T, atomicMax, (T * address, T value), value > old ? value : old) \
  CONVLAB_ATOMIC(T, atomicAnd, (T * address, T value), old& value)                \
  CONVLAB_ATOMIC(T, atomicOr, (T * address, T value), old | value)                \
  CONVLAB_ATOMIC(T, atomicXor, (T * address, T value), old ^ value)
CONVLAB_ATOMIC_ADD(int)
CONVLAB_ATOMIC_ADD(unsigned)
CONVLAB_ATOMIC_ADD(unsigned long long)
CONVLAB_ATOMIC_ADD(float)
CONVLAB_ATOMIC_ADD(double)
CONVLAB_ATOMIC_SUB(int)
CONVLAB_ATOMIC_SUB(unsigned)
CONVLAB_ATOMIC_INTEGER(int)
CONVLAB_ATOMIC_INTEGER(unsigned)
CONVLAB_ATOMIC_INTEGER(long long)
CONVLAB_ATOMIC_INTEGER(unsigned long long)
CONVLAB_ATOMIC_EXCH(float)
CONVLAB_ATOMIC_CAS(unsigned short)
CONVLAB_ATOMIC(unsigned, atomicInc, (unsigned* address, unsigned limit), old >= limit ? 0 : old + 1)
CONVLAB_ATOMIC(unsigned, atomicDec, (unsigned* address, unsigned limit),
               old == 0 || old > limit ? limit : old - 1)
#undef CONVLAB_ATOMIC_INTEGER
#undef CONVLAB_ATOMIC_CAS
#undef CONVLAB_ATOMIC_CAS_IN
#undef CONVLAB_ATOMIC_EXCH
#undef CONVLAB_ATOMIC_SUB
#undef CONVLAB_ATOMIC_ADD

// The same with a memory order and a scope, since CUDA 12.8; of values of 4, 8 or 16 bytes.
#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_CONSUME __ATOMIC_CONSUME
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_ATOMIC_SEQ_CST __ATOMIC_SEQ_CST
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

namespace convlab::emulation {
constexpr unsigned nv_kind(int order, int scope) {
  return (order == __NV_ATOMIC_RELAXED ? 0U : unsigned{kAtomicOrders}) |
         (scope < __NV_THREAD_SCOPE_CLUSTER ? unsigned{kAtomicInBlock} : 0U);
}
}  // namespace convlab::emulation

#define CONVLAB_ORDERED int order, int scope = __NV_THREAD_SCOPE_SYSTEM
template <typename T>
[[gnu::always_inline]] inline T __nv_atomic_load_n(const volatile T* address, CONVLAB_ORDERED) {
  return convlab::emulation::atomic_read(const_cast<const T*>(address),
                                         convlab::emulation::nv_kind(order, scope));
}
template <typename T>
[[gnu::always_inline]] inline void __nv_atomic_load(const T* address, T* result, CONVLAB_ORDERED) {
  *result = __nv_atomic_load_n(address, order, scope);
}
// Of each a form that returns the former value, and of most one that returns nothing.
#define CONVLAB_NV_ATOMIC(Result, name, kind, expression)                                  \
  template <typename T>                                                                    \
  [[gnu::always_inline]] inline Result name(T* address, convlab::emulation::AsIs<T> value, \
                                            CONVLAB_ORDERED) {                             \
    return static_cast<Result>(convlab::emulation::atomic_update(                          \
        address, [=]([[maybe_unused]] T old) { return static_cast<T>(expression); },       \
        convlab::emulation::nv_kind(order, scope) | (kind)));                              \
  }
#define CONVLAB_NV_ATOMICS(operation, expression)                     \
  CONVLAB_NV_ATOMIC(T, __nv_atomic_fetch_##operation, 0U, expression) \
  CONVLAB_NV_ATOMIC(void, __nv_atomic_##operation, 0U, expression)
CONVLAB_NV_ATOMICS(add, convlab::emulation::atomic_sum(address, old, value))
CONVLAB_NV_ATOMICS(sub, convlab::emulation::wrapped_difference(old, value))
CONVLAB_NV_ATOMICS(and, old& value)
CONVLAB_NV_ATOMICS(or, old | value)
CONVLAB_NV_ATOMICS(xor, old ^ value)
CONVLAB_NV_ATOMICS(min, value < old ? value : old)
CONVLAB_NV_ATOMICS(max, value > old ? value : old)
CONVLAB_NV_ATOMIC(void, __nv_atomic_store_n, convlab::emulation::kAtomicStores, value)
CONVLAB_NV_ATOMIC(T, __nv_atomic_exchange_n, convlab::emulation::kAtomicStores, value)
#undef CONVLAB_NV_ATOMICS
#undef CONVLAB_NV_ATOMIC
template <typename T>
[[gnu::always_inline]] inline void __nv_atomic_store(T* address, const T* value, CONVLAB_ORDERED) {
  __nv_atomic_store_n(address, *value, order, scope);
}
template <typename T>
[[gnu::always_inline]] inline void __nv_atomic_exchange(T* address, const T* value, T* result,
                                                        CONVLAB_ORDERED) {
  *result = __nv_atomic_exchange_n(address, *value, order, scope);
}
template <typename T>
[[gnu::always_inline]] inline bool __nv_atomic_compare_exchange_n(
    T* address, T* expected, convlab::emulation::AsIs<T> value, bool /*weak*/, int order,
    int /*failure_order*/, int scope = __NV_THREAD_SCOPE_SYSTEM) {
  const T wanted = *expected;
  convlab::emulation::observe_verification(address);
  *expected = convlab::emulation::atomic_update(
      address, [=](T old) { return convlab::emulation::same_bits(old, wanted) ? value : old; },
      convlab::emulation::nv_kind(order, scope));
  return convlab::emulation::same_bits(*expected, wanted);
}
template <typename T>
[[gnu::always_inline]] inline bool __nv_atomic_compare_exchange(
    T* address, T* expected, const T* value, bool weak, int order, int failure_order,
    int scope = __NV_THREAD_SCOPE_SYSTEM) {
  return __nv_atomic_compare_exchange_n(address, expected, *value, weak, order, failure_order,
                                        scope);
}
inline void __nv_atomic_thread_fence(CONVLAB_ORDERED) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (order != __NV_ATOMIC_RELAXED)
    convlab::emulation::observe_fence(scope < __NV_THREAD_SCOPE_CLUSTER);
}
#undef CONVLAB_ORDERED

// ---- fences, caches, clocks, traps --------------------------------------------------------------

inline void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  convlab::emulation::observe_fence(false);
}
inline void __threadfence_block() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  convlab::emulation::observe_fence(true);
}
inline void __threadfence_system() {
  __threadfence();
}

// Caches are not emulated: every load and store with a cache operator is a plain one.
// An object that converts to a pointer does so under a +.
#define CONVLAB_CACHED_LOAD(name)                                      \
  template <typename T>                                                \
  std::remove_cv_t<T> name(const T* address) {                         \
    return *address;                                                   \
  }                                                                    \
  template <typename T, std::enable_if_t<std::is_class_v<T>, int> = 0> \
  auto name(const T& address) {                                        \
    return name(+address);                                             \
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
