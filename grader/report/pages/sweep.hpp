#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
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

/// All points whose sums fit, the last parameter changing fastest.
std::vector<SweepPoint> points_of(const SweepSpace& space);

/// "4,8,128"
std::string text_of(const SweepPoint& point);

/// Counted instead of timed: loads for each useful multiply-add. A thread with m maps and p pixels
/// loads m + p numbers for m · p products; products of maps and pixels that do not exist cost loads
/// but are not useful.
double counted_loads(const SweepSpace& space, const SweepPoint& point, const ConvShape& shape);

/// The outcome of one point.
struct TriedPoint {
  int batch = 0;
  SweepPoint point{};
  std::vector<double> op_ms{};  ///< the median of each convolution
  std::string failure{};        ///< why there are none
};

/// A sweep as stored in a file.
struct SweepRecord {
  std::string stage{};
  std::string network{};
  std::string gpu{};  ///< empty: nothing ran, its points are counted
  std::vector<TriedPoint> tried{};
};

/// @throws EnvironmentError if the file is not a record
SweepRecord read_sweep_record(const std::filesystem::path& file);
void write_sweep_record(const std::filesystem::path& file, const SweepRecord& record);

/// Times a stage at one point, over the channel of a check.
/// @param program  the milestone's
/// @param tried    batch and point; gets the times, or the reason for none
/// @throws EnvironmentError if the program is missing or no GPU answers it
void time_point(const std::filesystem::path& program, const SweepSpace& space,
                std::vector<ConvShape> shapes, TriedPoint& tried);

/// The points of one convolution at one batch, by time, or by loads, which are the same at every
/// batch.
struct SweepTable {
  std::string text{};  ///< what was swept, in which unit, and the best two points
  /// A row for each value of the first parameter, a column for each of the second, and in each cell
  /// the best over the others, with their values: "0.390 (64)".
  Table cells{};
  std::vector<KnownNumber> scores{};  ///< best first
};

/// @throws UsageError if the record's network is unknown
std::vector<SweepTable> tables_of(const SweepSpace& space, const SweepRecord& record);

}  // namespace convlab::grader
