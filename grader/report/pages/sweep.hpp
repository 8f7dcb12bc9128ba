#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/result/json_fields.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

/// One parameter of a stage, with the values to try. Three names have a meaning for the grader;
/// others are only tried:
///
///     maps     neighbouring maps that one thread computes
///     pixels   pixels that one thread computes
///     block    threads of a block
struct SweepParameter {
  std::string name{};
  std::vector<int> values{};
};

/// A stage's declaration in sweeps.json beside its chapter.
struct SweepSpace {
  std::string stage{};
  std::string variable{};  ///< the environment variable that names a point, "4,8,128"
  std::vector<SweepParameter> parameters{};
  int most_sums = 0;  ///< maps · pixels that fit into the registers of a thread; 0: no limit
};

/// A value for each parameter of a space, in its order.
using SweepPoint = std::vector<int>;

/// The spaces that a file declares. @throws EnvironmentError that names the file and what is wrong
std::vector<SweepSpace> read_sweep_spaces(const std::filesystem::path& file);

/// All points, the last parameter changing fastest.
std::vector<SweepPoint> points_of(const SweepSpace& space);

/// "4,8,128"
std::string text_of(const SweepPoint& point);

/// Why a point need not be tried for a convolution of this shape, "maps 8: the convolution has 4";
/// empty if it must be tried.
std::optional<std::string> reason_against(const SweepSpace& space, const SweepPoint& point,
                                          const ConvShape& shape);

/// Counted instead of timed: loads for each useful multiply-add. A thread with m maps and p pixels
/// loads m + p numbers for m · p products; products of maps and pixels that do not exist cost loads
/// but are not useful.
double counted_loads(const SweepSpace& space, const SweepPoint& point, const ConvShape& shape);

/// The outcome of one point.
struct TriedPoint {
  int batch = 0;
  SweepPoint point{};
  std::vector<std::vector<double>> op_ms{};  ///< samples, a list for each convolution
  std::string failure{};                     ///< why there are none
};

/// A sweep as stored in a file, so that it can stop and continue.
struct SweepRecord {
  std::string stage{};
  std::string program{};  ///< the executable and its version
  std::string network{};
  std::string gpu{};
  std::vector<TriedPoint> tried{};
};

/// What to sweep.
struct SweepPlan {
  SweepSpace space{};
  std::filesystem::path program{};  ///< the milestone's program
  std::string network{};
  std::string gpu{};
  std::vector<int> batches{};
  std::vector<ConvShape> shapes{};  ///< of the network's convolutions, at any batch
  int repeats = 10;
};

/// The points of a plan that some convolution must try, batch after batch.
std::vector<TriedPoint> work_of(const SweepPlan& plan);

/// @throws EnvironmentError if the file is not a record
SweepRecord read_sweep_record(const std::filesystem::path& file);
void write_sweep_record(const std::filesystem::path& file, const SweepRecord& record);

/// The record in `file` if it has the same stage, program, network and GPU; otherwise a new one.
/// @throws EnvironmentError if the file exists and is not a record
SweepRecord continued_record(const std::filesystem::path& file, const SweepPlan& plan);

/// Times the stage at one point, over the channel of a check, and stores its times or the reason
/// for none.
void time_point(const SweepPlan& plan, TriedPoint& point);

using TimePoint = std::function<void(const SweepPlan& plan, TriedPoint& point)>;

/// Times the points that the record lacks, and writes it after each point: whoever ends the grader
/// loses one point.
/// @param show  called before each point with "12 of 57: 4,8,128 at 1000 images"
/// @throws EnvironmentError if the program is missing or no GPU answers it
void run_sweep(const SweepPlan& plan, const std::filesystem::path& file, SweepRecord& record,
               const std::function<void(const std::string&)>& show,
               const TimePoint& time = time_point);

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
