#include "grader/checks/probe/dense_run.hpp"

#include <bit>
#include <cmath>
#include <random>

#include "reference/oracle/comparison.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::grader::probe {

bool DenseRun::is_unwritten(std::size_t output) const {
  return std::bit_cast<std::uint32_t>(answer.output[output]) == oracle::kPoisonBits;
}

bool DenseRun::is_wrong(std::size_t output) const {
  return !(static_cast<double>(answer.output[output]) == right[output]);
}

bool DenseRun::is_right() const {
  if (answer.kind != Answer::Kind::kNumbers) return false;
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (is_wrong(i)) return false;
  }
  return true;
}

std::vector<double> right_sums(const ConvShape& shape, const Numbers& input,
                               const Numbers& weights) {
  return oracle::exact_sums(shape, input.begin(), weights.begin()).values;
}

DenseRun run_dense(Program& program, const ConvShape& shape, std::uint64_t seed) {
  return run_whole(program, shape, program.few_bits ? 15 : 2047, program.few_bits ? 3 : 8, seed);
}

DenseRun run_whole(Program& program, const ConvShape& shape, int most_input, int most_weight,
                   std::uint64_t seed) {
  DenseRun run{.shape = shape,
               .input = Numbers(shape.input_size()),
               .weights = Numbers(shape.weights_size())};
  std::mt19937_64 engine(seed);
  const auto fill = [&](Numbers& numbers, int most) {
    for (std::int64_t i = 0; i < numbers.size(); ++i) {
      const auto number = static_cast<float>(1 + engine() % static_cast<unsigned>(most));
      numbers[i] = engine() % 2 == 0 ? number : -number;
    }
  };
  fill(run.input, most_input);
  fill(run.weights, most_weight);
  run.right = right_sums(shape, run.input, run.weights);
  run.answer = program.run(shape, run.input, run.weights);
  // A transform in single precision comes near whole numbers.
  for (std::size_t i = 0; i < run.answer.output.size(); ++i) {
    float& got = run.answer.output[i];
    if (std::abs(static_cast<double>(got) - run.right[i]) < kNearlyRight) {
      got = static_cast<float>(run.right[i]);
    }
  }
  return run;
}

}  // namespace convlab::grader::probe
