#pragma once

// Which part of a stage's output is made in which way.

#include <cstdint>
#include <string>
#include <vector>

#include "grader/measure/counters.hpp"

namespace convlab::grader {

constexpr std::uint64_t kCountedSeed = 7;  ///< of the numbers of all counted runs

/// A part of the output, and what makes it: what is lost to measure it, by its name for the device
/// (forgetter.hpp), or nothing, where the sums of the outputs tell (count_parts()).
struct Part {
  const char* id;
  const char* title;
  const char* way = nullptr;
};

const std::vector<Part>& all_parts();

/// By how much less the output is if tensor cores add nothing, or, if that is less, the part of the
/// outputs for which they make more than one product.
double part_on_tensor_cores(Submission& submission, const StageInfo& stage, const ConvShape& shape);

}  // namespace convlab::grader
