#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/result/json_fields.hpp"

namespace convlab::grader {

/// One parameter of a stage, with the values to try. Four names have a meaning for the grader;
/// others are only tried:
///
///     maps     neighbouring maps that one thread computes
///     pixels   pixels that one thread computes
///     block    threads of a block
///     tile     edge of a square tile of outputs, whose inputs lie in shared memory
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

void json_fields(JsonFields& fields, SweepSpace& space);

/// The spaces that a file declares. @throws EnvironmentError that names the file and what is wrong
std::vector<SweepSpace> read_sweep_spaces(const std::filesystem::path& file);

/// All points, the last parameter changing fastest.
std::vector<SweepPoint> points_of(const SweepSpace& space);

/// "4,8,128"
std::string text_of(const SweepPoint& point);

/// The limits of a block.
struct BlockLimits {
  int threads = 1024;
  int shared_bytes = 48 * 1024;
};

/// Why a point need not be tried for a convolution of this shape, "maps 8: the convolution has 4";
/// empty if it must be tried.
std::optional<std::string> reason_against(const SweepSpace& space, const SweepPoint& point,
                                          const ConvShape& shape, const BlockLimits& limits = {});

/// Counted instead of timed: loads for each useful multiply-add. A thread with m maps and p pixels
/// loads m + p numbers for m · p products; products of maps and pixels that do not exist cost loads
/// but are not useful. Empty if the space has neither maps nor pixels.
std::optional<double> counted_loads(const SweepSpace& space, const SweepPoint& point,
                                    const ConvShape& shape);

}  // namespace convlab::grader
