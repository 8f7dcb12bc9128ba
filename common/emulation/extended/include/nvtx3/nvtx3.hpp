#pragma once

// NVTX's ranges of C++, for a profiler that the emulated device has not.

#include "../nvToolsExt.h"

// NOLINTBEGIN(readability-identifier-naming): the names are NVTX's
namespace nvtx3 {

/// A range from here to the end of the scope; takes whatever describes it.
class scoped_range {
 public:
  template <typename... Attributes>
  explicit scoped_range(const Attributes&... /*attributes*/) {}
  scoped_range(const scoped_range&) = delete;
  scoped_range& operator=(const scoped_range&) = delete;
  ~scoped_range() {}
};

template <typename... Attributes>
void mark(const Attributes&... /*attributes*/) {}

}  // namespace nvtx3

#define NVTX3_FUNC_RANGE() static_cast<void>(0)
// NOLINTEND(readability-identifier-naming)
