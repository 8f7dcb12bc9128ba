#pragma once

// One include for both major versions of Catch2: Debian 12 has 2.13, newer distributions have 3.x.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#include <string>

namespace Catch::Matchers {

/// The name that Catch2 3 gives to the matcher for parts of strings.
inline auto ContainsSubstring(const std::string& part) {
  return Contains(part);
}

}  // namespace Catch::Matchers
#endif

/// Skips a test case that cannot run here; ctest counts it as skipped and shows the reason.
#define CONVLAB_SKIP(reason)       \
  do {                             \
    WARN("skipped: " << (reason)); \
    return;                        \
  } while (false)
