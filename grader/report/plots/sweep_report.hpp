#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/measure/sweep.hpp"
#include "grader/report/plots/figure.hpp"

namespace convlab::grader {

/// One point of a convolution at a batch: its time in milliseconds, or its counted loads.
struct ScoredPoint {
  SweepPoint point{};
  double score = 0.0;
};

/// The points of one convolution at one batch, best first, and those that were not tried.
struct SweepTable {
  std::string title{};  ///< "convolution 2 at 1 000 images"
  std::string file_stem{};
  std::string unit{};  ///< "op time, ms", "loads for each multiply-add"
  std::vector<ScoredPoint> scored{};
  std::vector<std::string> left_out{};  ///< "9 points: too many registers: …", "1 point: …"
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

/// A heat map: a row for each value of the first parameter, a column for each of the second, and in
/// each cell the best over the others, with their values.
Figure heat_map(const SweepSpace& space, const SweepTable& table, const std::string& caption = "");

/// The same as a table for the terminal; below it the best point and what was left out.
std::string table_text(const SweepSpace& space, const SweepTable& table);

}  // namespace convlab::grader
