#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "grader/report/table.hpp"

namespace convlab::grader {

/// What sweeps.json beside a chapter declares of a stage: the values to try of each parameter.
struct SweepSpace {
  std::string stage{};
  std::string variable{};     ///< the environment variable that names a point, "4,8,128"
  std::vector<int> maps{};    ///< neighbouring maps that one thread computes
  std::vector<int> pixels{};  ///< pixels that one thread computes
  std::vector<int> block{};   ///< threads of a block
  int most_sums = 0;          ///< maps · pixels that fit into the registers of a thread
};

/// Maps, pixels, threads of a block.
using SweepPoint = std::array<int, 3>;

/// The spaces that a milestone's folder declares. @throws EnvironmentError if its file is invalid
std::vector<SweepSpace> sweep_spaces(const std::filesystem::path& milestone_folder);

/// All points whose sums fit, the block changing fastest.
std::vector<SweepPoint> points_of(const SweepSpace& space);

/// "4,8,128"
std::string text_of(const SweepPoint& point);

/// The points of one convolution at one batch, by time, or by loads, which are the same at every
/// batch.
struct SweepTable {
  std::string text{};  ///< what was swept, in which unit, and the best two points
  Table cells{};       ///< maps down, pixels across, in each cell the best block: "0.390 (64)"
  std::vector<KnownNumber> scores{};  ///< best first
};

/// By the results of a sweep: FOLDER/BATCH/POINT.json.
/// @throws EnvironmentError for a file that is no result
std::vector<SweepTable> timed_tables(const SweepSpace& space, const std::filesystem::path& folder);

/// By counted loads: nothing ran. @throws UsageError if the network is unknown
std::vector<SweepTable> counted_tables(const SweepSpace& space, const std::string& network);

}  // namespace convlab::grader
