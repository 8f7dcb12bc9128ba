#pragma once

#include <cstddef>
#include <cstdint>

namespace convlab {

/// A 32-bit word that the host gave to kernels, or that a kernel wrote.
struct FlowWord {
  std::uint64_t place = 0;  ///< which launch, which memory, which word; the same in each run
  std::uint32_t value = 0;
  std::uint32_t by_kernel = 0;  ///< 1: a kernel wrote it; 0: the host did
};

/// The largest number of words recorded in one run.
inline constexpr std::size_t kMostFlowWords = 2'000'000;

/// Only one in so many of the words that kernels write is recorded: unrolled inputs are large.
inline constexpr std::size_t kKernelWordsPerNoted = 8;

}  // namespace convlab
