#pragma once

// Ranges and marks for a profiler, of which the emulated device has none.
// Source: NVTX 3 API reference.

#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming): the names are NVTX's
using nvtxRangeId_t = std::uint64_t;

#define CONVLAB_NVTX(Result, name) \
  template <class... Arguments>    \
  Result name(Arguments...) {      \
    return Result();               \
  }
CONVLAB_NVTX(int, nvtxRangePushA)
CONVLAB_NVTX(int, nvtxRangePop)
CONVLAB_NVTX(nvtxRangeId_t, nvtxRangeStartA)
CONVLAB_NVTX(void, nvtxRangeEnd)
CONVLAB_NVTX(void, nvtxMarkA)
#undef CONVLAB_NVTX
#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxMark nvtxMarkA
// NOLINTEND(readability-identifier-naming)
