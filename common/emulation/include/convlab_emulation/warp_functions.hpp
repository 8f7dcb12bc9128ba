#pragma once

// Barriers, shuffles, votes, matches and reductions.
// Source: CUDA C++ Programming Guide, Synchronization, Warp Vote, Match, Reduce, Shuffle Functions.

#include <cstring>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/device_functions.hpp"

namespace convlab::emulation {

// ---- shuffle ------------------------------------------------------------------------------------

enum class ShuffleMode { kIndex, kUp, kDown, kXor };

/// The lane that a shuffle reads, or -1 for the caller's own value.
/// Source: PTX ISA, shfl.sync
constexpr int shuffle_source(ShuffleMode mode, int lane, int argument, int width) {
  const int first = lane & ~(width - 1);
  if (mode == ShuffleMode::kIndex) return first | (argument & (width - 1));
  const int source = mode == ShuffleMode::kUp     ? lane - argument
                     : mode == ShuffleMode::kDown ? lane + argument
                                                  : lane ^ argument;
  const bool is_beyond = mode == ShuffleMode::kUp ? source < first : source >= first + width;
  return is_beyond ? -1 : source;
}

template <typename T>
struct ShuffleInput {
  T value;
  ShuffleMode mode;
  int argument;
  int width;
  CallSite site;
};

/// Tells of a lane that reads one which does not take part; the value is undefined on a GPU.
void note_absent_lane(int lane, int source, std::uint32_t mask, CallSite site);

template <typename T>
auto shuffle_all(WarpExchange& exchange) {
  for (const int lane : exchange.lanes()) {
    const auto& in = exchange.input<ShuffleInput<T>>(lane);
    const int source = shuffle_source(in.mode, lane, in.argument, in.width);
    T& out = exchange.output<T>(lane);
    if (source < 0) {
      out = in.value;
    } else if (exchange.has(source)) {
      out = exchange.input<ShuffleInput<T>>(source).value;
    } else {
      note_absent_lane(lane, source, exchange.mask, in.site);
      std::memset(static_cast<void*>(&out), 0xff, sizeof out);
    }
  }
}

/// Any shuffle of any trivially copyable type.
/// @param argument  source lane, distance or lane mask, by mode
/// @param width     2, 4, 8, 16 or 32 lanes share
template <typename T>
auto shuffle(const char* name, ShuffleMode mode, std::uint32_t mask, T value, int argument,
             int width, CallSite site) {
  const ShuffleInput<T> in{value, mode, argument, width, site};
  T out;
  warp_collective({&shuffle_all<T>, name, false, sizeof(T)}, mask, &in, &out, site);
  return out;
}

// ---- votes, matches, reductions -----------------------------------------------------------------

/// Hands every lane the result of one function of all lanes' values.
template <typename T, typename Result, Result (*combine)(const WarpExchange&)>
auto combine_all(WarpExchange& exchange) {
  const Result result = combine(exchange);
  for (const int lane : exchange.lanes()) exchange.output<Result>(lane) = result;
}

template <typename T, typename Result, Result (*combine)(const WarpExchange&)>
auto combine_lanes(const char* name, std::uint32_t mask, T value, CallSite site) {
  Result out;
  warp_collective({&combine_all<T, Result, combine>, name}, mask, &value, &out, site);
  return out;
}

inline unsigned ballot_of(const WarpExchange& exchange) {
  unsigned votes = 0;
  for (const int lane : exchange.lanes())
    if (exchange.input<int>(lane) != 0) votes |= 1U << lane;
  return votes;
}

/// Folds the lanes' values, lowest lane first.
template <typename T, typename Operation>
auto fold(const WarpExchange& exchange) {
  bool first = true;
  T result{};
  for (const int lane : exchange.lanes()) {
    const T value = exchange.input<T>(lane);
    result = first ? value : Operation{}(result, value);
    first = false;
  }
  return result;
}

template <typename T>
auto match_any_all(WarpExchange& exchange) {
  for (const int lane : exchange.lanes()) {
    unsigned same = 0;
    for (const int other : exchange.lanes())
      if (same_bits(exchange.input<T>(lane), exchange.input<T>(other))) same |= 1U << other;
    exchange.output<unsigned>(lane) = same;
  }
}

template <typename T>
auto match_all(const WarpExchange& exchange) {
  const T& first = exchange.input<T>(*exchange.lanes().begin());
  for (const int lane : exchange.lanes())
    if (!same_bits(first, exchange.input<T>(lane))) return 0U;
  return unsigned{exchange.present};
}

inline void nothing_to_exchange(WarpExchange& /*exchange*/) {}

}  // namespace convlab::emulation

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are CUDA's

inline void __syncthreads(CONVLAB_CALL_SITE) {
  convlab::emulation::block_barrier("__syncthreads", false, site);
}
inline int __syncthreads_count(int predicate, CONVLAB_CALL_SITE) {
  convlab::emulation::block_barrier("__syncthreads_count", predicate != 0, site);
  return convlab::emulation::barrier_result().count;
}
inline int __syncthreads_and(int predicate, CONVLAB_CALL_SITE) {
  convlab::emulation::block_barrier("__syncthreads_and", predicate != 0, site);
  const auto result = convlab::emulation::barrier_result();
  return result.count == result.arrived ? 1 : 0;
}
inline int __syncthreads_or(int predicate, CONVLAB_CALL_SITE) {
  convlab::emulation::block_barrier("__syncthreads_or", predicate != 0, site);
  return convlab::emulation::barrier_result().count != 0;
}
inline void __syncwarp(unsigned mask = convlab::emulation::kFullMask, CONVLAB_CALL_SITE) {
  convlab::emulation::warp_collective(
      {&convlab::emulation::nothing_to_exchange, "__syncwarp", true}, mask, nullptr, nullptr, site);
}
inline unsigned __activemask(CONVLAB_CALL_SITE) {
  return convlab::emulation::converged_lanes(site);
}

// Overloads, not templates: an argument of any other type converts to one of theirs, as with nvcc.
#define CONVLAB_SHUFFLE(T, name, mode, Argument)                                                  \
  inline T name(unsigned mask, T value, Argument argument, int width = 32, CONVLAB_CALL_SITE) {   \
    return convlab::emulation::shuffle(#name, convlab::emulation::ShuffleMode::mode, mask, value, \
                                       static_cast<int>(argument), width, site);                  \
  }
#define CONVLAB_SHUFFLES(T)                             \
  CONVLAB_SHUFFLE(T, __shfl_sync, kIndex, int)          \
  CONVLAB_SHUFFLE(T, __shfl_up_sync, kUp, unsigned)     \
  CONVLAB_SHUFFLE(T, __shfl_down_sync, kDown, unsigned) \
  CONVLAB_SHUFFLE(T, __shfl_xor_sync, kXor, int)

#define CONVLAB_VOTE(Result, name, combine, value, result)                             \
  inline Result name(unsigned mask, int predicate, CONVLAB_CALL_SITE) {                \
    const unsigned votes =                                                             \
        convlab::emulation::combine_lanes<int, unsigned, convlab::emulation::combine>( \
            #name, mask, static_cast<int>(value), site);                               \
    return static_cast<Result>(result);                                                \
  }
CONVLAB_VOTE(unsigned, __ballot_sync, ballot_of, predicate, votes)
CONVLAB_VOTE(int, __any_sync, ballot_of, predicate, votes != 0)
// All that take part say yes exactly when none says no.
CONVLAB_VOTE(int, __all_sync, ballot_of, predicate == 0, votes == 0)
CONVLAB_VOTE(int, __uni_sync, match_all<int>, predicate != 0, votes != 0)
#undef CONVLAB_VOTE
#define CONVLAB_MATCHES(T)                                                                      \
  CONVLAB_SHUFFLES(T)                                                                           \
  inline unsigned __match_any_sync(unsigned mask, T value, CONVLAB_CALL_SITE) {                 \
    unsigned out = 0;                                                                           \
    convlab::emulation::warp_collective(                                                        \
        {&convlab::emulation::match_any_all<T>, "__match_any_sync"}, mask, &value, &out, site); \
    return out;                                                                                 \
  }                                                                                             \
  inline unsigned __match_all_sync(unsigned mask, T value, int* predicate, CONVLAB_CALL_SITE) { \
    const unsigned same =                                                                       \
        convlab::emulation::combine_lanes<T, unsigned, convlab::emulation::match_all<T>>(       \
            "__match_all_sync", mask, value, site);                                             \
    *predicate = same != 0;                                                                     \
    return same;                                                                                \
  }
CONVLAB_MATCHES(int)
CONVLAB_MATCHES(unsigned)
CONVLAB_MATCHES(long)
CONVLAB_MATCHES(unsigned long)
CONVLAB_MATCHES(long long)
CONVLAB_MATCHES(unsigned long long)
CONVLAB_MATCHES(float)
CONVLAB_MATCHES(double)
#undef CONVLAB_MATCHES

#define CONVLAB_REDUCE(name, T, expression)                                                 \
  inline T name(unsigned mask, T value, CONVLAB_CALL_SITE) {                                \
    struct Operation {                                                                      \
      T operator()(T a, T b) const { return static_cast<T>(expression); }                   \
    };                                                                                      \
    return convlab::emulation::combine_lanes<T, T, convlab::emulation::fold<T, Operation>>( \
        #name, mask, value, site);                                                          \
  }
CONVLAB_REDUCE(__reduce_add_sync, int, static_cast<unsigned>(a) + static_cast<unsigned>(b))
CONVLAB_REDUCE(__reduce_add_sync, unsigned, a + b)
CONVLAB_REDUCE(__reduce_min_sync, int, b < a ? b : a)
CONVLAB_REDUCE(__reduce_min_sync, unsigned, b < a ? b : a)
CONVLAB_REDUCE(__reduce_max_sync, int, a < b ? b : a)
CONVLAB_REDUCE(__reduce_max_sync, unsigned, a < b ? b : a)
CONVLAB_REDUCE(__reduce_and_sync, unsigned, a& b)
CONVLAB_REDUCE(__reduce_or_sync, unsigned, a | b)
CONVLAB_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef CONVLAB_REDUCE

// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
