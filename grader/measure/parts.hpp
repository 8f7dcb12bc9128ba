#pragma once

// Which part of a stage's output is made in which way.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "grader/measure/counters.hpp"

namespace convlab::grader {

/// Of the numbers of all counted runs: no file holds their outputs.
inline const std::uint64_t kCountedSeed = std::random_device{}();

/// A part of the output, and what makes it: what is lost to measure it, by its name for the device
/// (forgetter.hpp), or nothing, where the sums of the outputs tell (count_parts()). `threads`: each
/// output also needs numbers that different threads have loaded, by what half of them lose.
struct Part {
  const char* id;
  const char* title;
  const char* way = nullptr;
  const char* threads = nullptr;
};

const std::vector<Part>& all_parts();

/// The part of the outputs whose terms are products on tensor cores, or of halves.
double part_of_products(Submission& submission, const StageCounts& counts, bool on_tensor_cores);

}  // namespace convlab::grader
