#pragma once

// Ranges and marks for a profiler, of which the emulated device has none.

// NOLINTBEGIN(readability-identifier-naming): the names are NVTX's
inline int nvtxRangePushA(const char* /*name*/) {
  return 0;
}
inline int nvtxRangePop() {
  return 0;
}
inline void nvtxMarkA(const char* /*name*/) {}
#define nvtxRangePush nvtxRangePushA
#define nvtxMark nvtxMarkA
// NOLINTEND(readability-identifier-naming)
