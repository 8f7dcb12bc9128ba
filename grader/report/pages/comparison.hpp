#pragma once

#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

/// The stages of one network at one batch.
struct Comparison {
  std::string network{};
  int batch = 0;
  std::string caption{};
  /// A row for each stage. Times are medians in milliseconds: the op time of each convolution and
  /// their sum, the layer time with copies. "compute %" is the share of the machine's arithmetic
  /// peak, "memory %" that of its bandwidth by the compulsory traffic. The ratio is the other
  /// stage's op time over this one's, with its 95 % interval (see estimate_speed). Verdict: faster,
  /// slower, or undecided: the interval holds 1, or there are too few samples for one.
  Table table{};
};

/// Compares stages: each with the one before it on the ladder (its `baseline`).
/// @param names    of the results, for rows where several results hold the same stage
/// @param by_file  with the same stage in the first result instead
/// @return one for each network and batch that has times; emulated and failed runs have none
std::vector<Comparison> compare(const std::vector<Result>& results,
                                const std::vector<std::string>& names, bool by_file = false);

}  // namespace convlab::grader
