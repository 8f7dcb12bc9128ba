#pragma once

// Pairs of a kernel with a race and its twin without, of what no mistake of the corpus and no
// reference stage shows. The race is found in every order of
// execution, its lines are those with "first" and "second" (where a line is both, "twice"), and the
// twin is silent.

#include <vector>

#include "common/base/fault_record.hpp"

namespace convlab::emulation {

/// A kernel with a race, and its twin without.
struct Pair {
  const char* name;
  RaceScope scope;
  /// @param memory  32 KiB of the device's, zeros
  void (*wrong)(void* memory);
  void (*right)(void* memory);
  bool in_any_order = true;

  /// In other orders the kernel does not come to the second line.
  [[nodiscard]] Pair only_forward() const {
    Pair pair = *this;
    pair.in_any_order = false;
    return pair;
  }
};

constexpr int kThreads = 128;
constexpr int kBlocks = 4;

std::vector<Pair> race_pairs_in_blocks();
std::vector<Pair> race_pairs_in_warps();
std::vector<Pair> race_pairs_of_blocks();

}  // namespace convlab::emulation

// clang-format off
#define UNLESS_WRONG(statement) \
  if constexpr (kRight) {       \
    statement;                  \
  }
#define KERNEL(kernel, type, blocks, threads, scope)                                        \
  Pair {                                                                                    \
#kernel, RaceScope::scope,                                                                \
        [](void* memory) {                                                                    \
          kernel<false><<<blocks, threads, 4096>>>(static_cast<type*>(memory));               \
        },                                                                                    \
        [](void* memory) {                                                                    \
          kernel<true><<<blocks, threads, 4096>>>(static_cast<type*>(memory));                \
        } \
  }
#define WITH_FLAG(kernel)                                                                   \
  Pair {                                                                                    \
#kernel, RaceScope::kGrid,                                                                \
        [](void* memory) {                                                                    \
          kernel<false><<<kBlocks, kThreads>>>(static_cast<float*>(memory),                   \
                                               static_cast<unsigned*>(memory) + 4096);        \
        },                                                                                    \
        [](void* memory) {                                                                    \
          kernel<true><<<kBlocks, kThreads>>>(static_cast<float*>(memory),                    \
                                              static_cast<unsigned*>(memory) + 4096);         \
        } \
  }
#define HOST(function, scope) \
  Pair { #function, RaceScope::scope, function<false>, function<true> }
// clang-format on
