#include <algorithm>
#include <functional>
#include <string>

#include "grader/checks/probe/fact_texts.hpp"
#include "grader/checks/probe/finders.hpp"

namespace convlab::grader::probe {

std::optional<Fact> find_kept(Program& program, const std::function<void()>& restart,
                              const ConvShape& shape, bool few_bits) {
  // Two calls of a new process, the first with these numbers.
  const DenseRun own = run_dense(program, shape, few_bits, 1);
  const DenseRun other = run_dense(program, shape, few_bits, 2);
  const auto second = [&](const Numbers& input, const Numbers& weights) {
    restart();
    program.run(shape, input, weights);
    return program.run(shape, own.input, own.weights);
  };
  const Answer after = second(other.input, other.weights);
  const Answer after_same_input = second(own.input, other.weights);
  const Answer after_same_weights = second(other.input, own.weights);
  // A call that fails only sometimes fails for another reason than the numbers of the first.
  if (after.kind != after_same_input.kind || after.kind != after_same_weights.kind) {
    return std::nullopt;
  }
  const auto is_right = [&](const Answer& answer) {
    return answer.kind == Answer::Kind::kNumbers &&
           std::ranges::equal(own.right, answer.output, [](double right, float got) {
             return right == static_cast<double>(got);
           });
  };
  restart();
  const bool right_alone = is_right(program.run(shape, own.input, own.weights));
  // NaN is equal to nothing.
  const auto same = [](const Answer& a, const Answer& b) {
    return std::equal(a.output.begin(), a.output.end(), b.output.begin(), b.output.end(),
                      [](float x, float y) { return x == y || (x != x && y != y); });
  };
  const bool of_input = !same(after, after_same_input);
  const bool of_weights = !same(after, after_same_weights);
  if (!of_input && !of_weights) {
    if (!right_alone || after.kind != second(other.input, other.weights).kind) return std::nullopt;
    Fact fact{.id = "E-replay"};
    if (!is_right(after)) {
      fact.measured = "Measured at " + to_string(shape) +
                      ": the first call of a new process is right, the second is not, whatever "
                      "numbers the first had.";
      fact.cause =
          "A step is done in the first call only, or what it needs is gone afterwards: a "
          "static flag such as `first`, or memory that is freed.";
      fact.next = "Look for static and global variables: do in every call what they skip.";
      return fact;
    }
    ConvShape smaller = shape;
    smaller.height -= 2, smaller.width -= 1, smaller.batch = 1;
    constexpr int kTimes = 3;  // not by chance, such as a crash now and then
    for (int i = 0; i < kTimes; ++i) {
      restart();
      run_dense(program, smaller, few_bits, 2);
      if (is_right(program.run(shape, own.input, own.weights))) return std::nullopt;
    }
    if (program.is_over()) return std::nullopt;  // then nothing ran
    fact.measured = "Measured: " + to_string(shape) +
                    " is right in a new process, and wrong after " + to_string(smaller) + ".";
    fact.cause =
        "A size of an earlier call is still used: in a static or global variable, or as "
        "the size of memory that is allocated once.";
    fact.next = "Compute every size from the shape of the call, and allocate for it.";
    return fact;
  }
  // Not by chance, such as a race.
  if (!same(after, second(other.input, other.weights))) return std::nullopt;

  const auto is = [&](const std::vector<double>& sums) {
    return std::ranges::equal(sums, after.output,
                              [](double x, float y) { return x == static_cast<double>(y); });
  };
  std::vector<double> both = own.right;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += other.right[i];
  const std::string which = of_input && of_weights ? "input and weights"
                            : of_input             ? "the input"
                                                   : "the weights";
  Fact fact{.id = "E-replay"};
  fact.measured =
      "Measured with two calls in a new process: the output of the second call changes "
      "with " +
      which + " of the first call.";
  if (is(right_sums(shape, other.input, own.weights)) ||
      is(right_sums(shape, own.input, other.weights)) || is(other.right)) {
    fact.measured +=
        " It is exactly the convolution with " +
        (is(other.right) ? "the first call's input and weights" : which + " of the first call") +
        ".";
    fact.cause = "A copy of " + which +
                 " is made in the first call and used in all: it lies in a static or global "
                 "variable, or in memory that is kept.";
    fact.next = "Copy " + which + " in every call, or use the arguments of the call.";
  } else if (is(both)) {
    fact.measured += " It is exactly the sum of both outputs.";
    fact.cause = "Sums are kept from one call to the next and are not set to zero between them.";
    fact.next = "Set each sum to zero where a call begins.";
  } else {
    fact.cause =
        "Something that the first call has computed or copied is still there in the second "
        "and is used again: a static or global variable, or memory that is kept.";
    fact.next =
        "Look for static, global and __device__ variables, and for flags such as "
        "`first`: what does a second call find in them?";
  }
  return fact;
}

}  // namespace convlab::grader::probe
