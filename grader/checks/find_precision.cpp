#include "grader/checks/find_precision.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "grader/checks/element_cases.hpp"
#include "reference/oracle/comparison.hpp"

namespace convlab::grader {

namespace {

// The worst error of outputs that are one input each, in units of 2^-24 of that input.
double worst_rounding(Submission& submission, const StageInfo& stage, const ConvShape& shape,
                      std::uint64_t seed, float scale) {
  const Arrays arrays = submission.prepare(shape, Placement::kAligned);
  fill_random({.shape = shape}, seed, arrays);
  for (std::int64_t i = 0; i < shape.input_size(); ++i) {
    // From one to two: all have the same exponent.
    arrays.input[i] = (1.0F + std::min(std::fabs(arrays.input[i]), 0.999F)) * scale;
  }
  std::fill_n(arrays.weights, shape.weights_size(), 0.0F);
  const std::int64_t filter = shape.weights_size() / shape.out_channels;
  for (int map = 0; map < shape.out_channels; ++map) arrays.weights[map * filter] = 1.0F;
  if (submission.run(stage.id).failure) return std::numeric_limits<double>::infinity();
  const auto report = oracle::compare(shape, arrays.input, arrays.weights, arrays.output,
                                      oracle::Tolerance::of(Precision::kBf16));
  return report.passed(shape) ? report.worst_ratio : std::numeric_limits<double>::infinity();
}

}  // namespace

Precision precision_of_inputs(Submission& submission, const StageInfo& stage,
                              const ConvShape& shape, std::uint64_t seed) {
  const double rounding = worst_rounding(submission, stage, shape, seed, 1.0F);
  if (rounding <= oracle::error_bound(Precision::kFp32)) return Precision::kFp32;
  if (rounding > oracle::error_bound(Precision::kBf16)) return Precision::kFp32;
  if (rounding > oracle::error_bound(Precision::kTf32)) return Precision::kBf16;
  // Halves have six bits left for numbers of this size.
  constexpr float kSmall = 0x1p-18F;
  const double small = worst_rounding(submission, stage, shape, seed, kSmall);
  return small <= oracle::error_bound(Precision::kTf32) ? Precision::kTf32 : Precision::kFp16;
}

std::optional<Precision> next_looser(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return Precision::kTf32;
    case Precision::kTf32:
    case Precision::kFp16:
    case Precision::kBf16:
      return Precision::kFp16Sums;
    case Precision::kFp16Sums:
      break;
  }
  return std::nullopt;
}

}  // namespace convlab::grader
