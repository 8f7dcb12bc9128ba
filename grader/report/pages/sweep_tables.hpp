#pragma once

#include <string>
#include <vector>

#include "grader/measure/sweep.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

/// One point of a convolution at a batch: its time in milliseconds, or its counted loads.
struct ScoredPoint {
  SweepPoint point{};
  double score = 0.0;
};

/// The points of one convolution at one batch, best first, and those that were not tried.
struct SweepTable {
  std::string title{};  ///< "convolution 2 at 1 000 images"
  std::string unit{};   ///< "op time, ms", "loads for each multiply-add"
  std::vector<ScoredPoint> scored{};
  std::vector<std::string> left_out{};  ///< "9 points: too many registers: …", "1 point: …"

  /// "4,8,128 with 1.50; next: 4,4,128 with 1.62"; empty if no point has a score.
  [[nodiscard]] std::string best() const;
};

/// All tables of a sweep.
struct SweepTables {
  SweepSpace space{};
  std::string caption{};  ///< where it was timed, or that it was counted
  std::vector<SweepTable> tables{};
};

/// The tables of what a record holds. Without a GPU nothing ran: its points are ranked by counted
/// loads, the same at every batch.
SweepTables tables_of(const SweepPlan& plan, const SweepRecord& record);

/// A row for each value of the first parameter, a column for each of the second, and in each cell
/// the best over the others, with their values: "0.390 (64)".
Table cells_of(const SweepSpace& space, const SweepTable& table);

}  // namespace convlab::grader
