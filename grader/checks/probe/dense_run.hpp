#pragma once

#include <cstdint>
#include <vector>

#include "grader/checks/probe/program.hpp"

namespace convlab::grader::probe {

/// Whole numbers for one run, whose sums in single precision are exact and nearly all different.
struct DenseRun {
  ConvShape shape{};
  Numbers input;
  Numbers weights;
  std::vector<double> right{};
  Answer answer{};

  [[nodiscard]] bool is_wrong(std::size_t output) const;
  [[nodiscard]] bool is_unwritten(std::size_t output) const;
  [[nodiscard]] bool is_right() const;
};

/// An output of a run that is so near to the right sum is taken for it.
constexpr double kNearlyRight = 0.25;

/// The exact output.
std::vector<double> right_sums(const ConvShape& shape, const Numbers& input,
                               const Numbers& weights);

/// Leaves only the last row of each filter, as a puzzle of one dimension has it.
template <class Weights>
void keep_last_rows(const ConvShape& shape, Weights& weights) {
  const std::int64_t taps = std::int64_t{shape.kernel} * shape.kernel;
  for (std::int64_t i = 0; i < shape.weights_size(); ++i) {
    if (i % taps < taps - shape.kernel) weights[i] = 0.0F;
  }
}

/// @param most_input, most_weight  the largest numbers
DenseRun run_whole(Program& program, const ConvShape& shape, int most_input, int most_weight,
                   std::uint64_t seed);

/// @param few_bits  the program may compute with halves, so the numbers are small
/// @param seed      other numbers
DenseRun run_dense(Program& program, const ConvShape& shape, bool few_bits, std::uint64_t seed = 3);

}  // namespace convlab::grader::probe
