#pragma once

#include <sys/syscall.h>

#include <span>

namespace convlab::grader {

struct NamedCall {
  unsigned number;
  const char* name;
};

// Newer than the headers of some distributions.
inline constexpr unsigned kClone3 = 435;
inline constexpr unsigned kIoUringSetup = 425;
inline constexpr unsigned kMemfdSecret = 447;

/// Calls that no kind of program may make.
std::span<const NamedCall> forbidden_calls();

/// All calls that a convolution on the CPU, its threads and its libraries need.
std::span<const unsigned> calls_of_a_convolution();

}  // namespace convlab::grader
