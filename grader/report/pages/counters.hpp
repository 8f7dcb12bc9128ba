#pragma once

#include <optional>
#include <string>

#include "common/result/result.hpp"

namespace convlab::grader {

/// Counters of Nsight Compute, in percent of what the unit can sustain; a mean over the kernels,
/// weighted by their running times. Empty where the file has no value.
struct Counters {
  std::optional<double> compute{};    ///< "Compute (SM) Throughput"
  std::optional<double> memory{};     ///< "Memory Throughput"
  std::optional<double> l1{};         ///< "L1/TEX Cache Throughput"
  std::optional<double> occupancy{};  ///< "Achieved Occupancy"
};

/// The counters of one stage at one batch.
struct StageCounters {
  std::string stage{};
  int batch = 0;
  Counters counters{};
};

/// Reads the output of `ncu --csv --page details`, which may contain lines of the profiled program.
/// @param name  of the file, for messages
/// @throws UsageError if the text holds no such table, or none of these counters
Counters parse_counters(const std::string& text, const std::string& name);

/// Reads "STAGE@BATCH=FILE". @throws UsageError if the form is wrong, or the file is not a profile
StageCounters read_counters(const std::string& argument);

}  // namespace convlab::grader
