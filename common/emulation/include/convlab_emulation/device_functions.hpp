#pragma once

// Device functions that are neither arithmetic nor collective: fences, clocks, cached loads, traps.

#include <type_traits>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

namespace convlab::emulation {

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
