#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

/// How many times as fast a stage is as another, with an interval for noise.
struct ComparedSpeed {
  std::string against{};  ///< the other stage, as a row names it
  double ratio = 0.0;     ///< the other's op time over this one's, sums of medians
  double low = 0.0;       ///< 95 % interval; see estimate_speed
  double high = 0.0;
  bool known = false;  ///< false: too few samples for an interval

  /// "faster", "slower", or "undecided": the interval holds 1, or there is none.
  [[nodiscard]] const char* verdict() const;
};

/// One stage of one result at one batch. Times are medians in milliseconds.
struct ComparedStage {
  std::string name{};
  std::vector<double> op_ms{};  ///< one for each convolution
  double sum_ms = 0.0;
  double layer_ms = 0.0;                    ///< sum over the convolutions, with copies
  std::optional<double> compute_percent{};  ///< of the machine's arithmetic peak in that precision
  std::optional<double> memory_percent{};   ///< of its bandwidth, by the compulsory traffic
  std::optional<ComparedSpeed> speed{};
};

/// The stages of one network at one batch.
struct Comparison {
  std::string network{};
  int batch = 0;
  std::string caption{};
  std::vector<ComparedStage> stages{};
};

/// Compares stages: each with the one before it on the ladder (its `baseline`).
/// @param names    of the results, for rows where several results hold the same stage
/// @param by_file  with the same stage in the first result instead
/// @return one for each network and batch that has times; emulated and failed runs have none
std::vector<Comparison> compare(const std::vector<Result>& results,
                                const std::vector<std::string>& names, bool by_file = false);

/// The rows: op time of each convolution and their sum, layer time, percents where known, ratio
/// with its interval and verdict.
Table table_of(const Comparison& comparison);

}  // namespace convlab::grader
