#include <algorithm>
#include <functional>
#include <string>

#include "grader/checks/probe/finders.hpp"

namespace convlab::grader::probe {

std::optional<Fact> find_kept(Program& program, const std::function<void()>& restart,
                              const ConvShape& shape, bool few_bits) {
  const DenseRun own = run_dense(program, shape, few_bits, 1);
  const DenseRun other = run_dense(program, shape, few_bits, 2);
  // The second of two calls in a new process, the first with these numbers.
  const auto second = [&](const Numbers& input, const Numbers& weights) {
    restart();
    program.run(shape, input, weights);
    return program.run(shape, own.input, own.weights);
  };
  const auto gives = [](const Answer& answer, const std::vector<double>& sums) {
    return std::ranges::equal(
        sums, answer.output, [](double sum, float got) { return sum == static_cast<double>(got); });
  };
  // NaN is equal to nothing.
  const auto same = [](const Answer& a, const Answer& b) {
    return std::ranges::equal(a.output, b.output,
                              [](float x, float y) { return x == y || (x != x && y != y); });
  };
  const Answer after = second(other.input, other.weights);
  const Answer after_same_input = second(own.input, other.weights);
  const Answer after_same_weights = second(other.input, own.weights);
  // A call that fails only sometimes fails for another reason than the numbers of the first.
  if (after.kind != after_same_input.kind || after.kind != after_same_weights.kind) {
    return std::nullopt;
  }
  const Answer again = second(other.input, other.weights);
  if (after.kind != again.kind) return std::nullopt;
  const bool of_input = !same(after, after_same_input);
  const bool of_weights = !same(after, after_same_weights);
  if (!of_input && !of_weights) {
    restart();
    if (!gives(program.run(shape, own.input, own.weights), own.right)) return std::nullopt;
    if (!gives(after, own.right)) return told("E-replay/first-call-only", {to_string(shape)});
    ConvShape smaller = shape;
    smaller.height -= 2, smaller.width -= 1, smaller.batch = 1;
    constexpr int kTimes = 3;  // not by chance, such as a crash now and then
    for (int i = 0; i < kTimes; ++i) {
      restart();
      run_dense(program, smaller, few_bits, 2);
      if (gives(program.run(shape, own.input, own.weights), own.right)) return std::nullopt;
    }
    if (program.is_over()) return std::nullopt;  // then nothing ran
    return told("E-replay/earlier-size", {to_string(shape), to_string(smaller)});
  }
  if (!same(after, again)) return std::nullopt;  // by chance, such as a race
  std::vector<double> both = own.right;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += other.right[i];
  const std::string which = of_input && of_weights ? "input and weights"
                            : of_input             ? "the input"
                                                   : "the weights";
  const bool of_all = gives(after, other.right);
  const char* name = of_all || gives(after, right_sums(shape, other.input, own.weights)) ||
                             gives(after, right_sums(shape, own.input, other.weights))
                         ? "E-replay/first-numbers"
                     : gives(after, both) ? "E-replay/sum-of-both"
                                          : "E-replay/first-result";
  return told(name, {which, of_all ? "input and weights" : which});
}

}  // namespace convlab::grader::probe
