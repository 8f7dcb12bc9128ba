#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "grader/measure/stage_counts.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

/// "1 234 567": groups of three, as the chapters write large numbers, with no-break spaces.
std::string grouped(std::int64_t number);

/// "5", "5.2": at most one digit behind the point.
std::string short_number(double number);

/// "12 %" for 0.12.
std::string percent(double share);

/// A number of a student's results, "op time of convolution 2 of tiled-shared at 1000 images".
struct KnownNumber {
  double value = 0.0;
  std::string what{};
};

/// The op and layer times of a result, in milliseconds; may hold zeros.
std::vector<KnownNumber> known_times(const Result& result);

/// The counters of all kernels together: name, value.
Table counter_table(const StageCounts& counts);

}  // namespace convlab::grader
