#include "grader/checks/data_flow.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "grader/checks/element_cases.hpp"
#include "grader/findings/catalogue.hpp"

namespace convlab::grader {

namespace {

using Values = std::unordered_map<std::uint64_t, std::uint32_t>;

/// The words of one run, by place.
struct Run {
  Values by_host{};
  Values by_kernels{};
};

Run sorted(const std::vector<FlowWord>& words) {
  Run run;
  for (const FlowWord& word : words) {
    (word.by_kernel != 0 ? run.by_kernels : run.by_host)[word.place] = word.value;
  }
  return run;
}

bool differs(const Values& values, const std::pair<const std::uint64_t, std::uint32_t>& word) {
  const auto found = values.find(word.first);
  return found == values.end() || found->second != word.second;
}

/// How many words depend on what. Words that differ by chance seem to depend on both.
struct Dependence {
  std::int64_t on_input = 0;  ///< alone
  std::int64_t on_weights = 0;
  std::int64_t on_both = 0;
};

Dependence dependence(const Values& first, const Values& other_input, const Values& other_weights) {
  Dependence count;
  for (const auto& word : first) {
    const bool input = differs(other_input, word);
    const bool weights = differs(other_weights, word);
    if (input && weights)
      ++count.on_both;
    else if (input)
      ++count.on_input;
    else if (weights)
      ++count.on_weights;
  }
  return count;
}

constexpr int kFewImages = 3;

/// The verdict on one convolution.
struct Outcome {
  bool has_failed = false;  ///< `finding` is about something else
  std::optional<Finding> finding{};
};

Outcome no_kernel(const std::string& seen) {
  return {false, finding("E-no-kernel", seen)};
}

// Hundreds of images may be unrolled, but megabytes for a few images hide something.
Outcome too_much(const ConvShape& shape, const std::string& where) {
  if (shape.batch > kFewImages) return {};
  return no_kernel("In " + where + ": the host passes to kernels more than " +
                   std::to_string(kMostFlowWords / 4 * 3) +
                   " words of 4 bytes; input and weights have " +
                   std::to_string(shape.input_size() + shape.weights_size()) + " numbers.");
}

Outcome look_at(Submission& submission, const StageInfo& stage, const ConvShape& shape,
                std::uint64_t seed) {
  const std::string where = "a convolution of " + to_string(shape);
  std::optional<Finding> failed;
  bool is_complete = true;
  bool is_unknown = false;
  const auto run = [&](std::uint64_t input_seed, std::uint64_t weights_seed) {
    if (failed || !is_complete) return Run{};
    submission.restart();  // a new process cannot know another one's input
    const Arrays arrays = submission.prepare(shape, Placement::kAligned);
    std::vector<float> unused(
        static_cast<std::size_t>(std::max(shape.input_size(), shape.weights_size())));
    const ElementCase numbers{.shape = shape};
    fill_random(numbers, input_seed, {arrays.input, unused.data(), nullptr});
    fill_random(numbers, weights_seed, {unused.data(), arrays.weights, nullptr});
    std::vector<FlowWord> words;
    const Call call = submission.run_recorded(stage.id, words);
    if (call.failure) failed = explain(*call.failure, where);
    is_complete = !words.empty();
    is_unknown = is_unknown || (words.size() == 1 && words.front().by_kernel == 2);
    submission.restart();
    return sorted(words);
  };
  Run first = run(seed, seed + 1);
  const Run other_input = run(seed + 2, seed + 1);
  const Run other_weights = run(seed, seed + 3);
  if (failed) return {true, failed};
  if (!is_complete) return too_much(shape, where);
  if (is_unknown) return {};
  const auto given = [&] {
    return dependence(first.by_host, other_input.by_host, other_weights.by_host);
  };
  const Dependence from_host = given();
  const Dependence written =
      dependence(first.by_kernels, other_input.by_kernels, other_weights.by_kernels);
  // Two outputs in halves fill a word.
  constexpr std::int64_t kPart = 4;
  const std::int64_t few = shape.output_size() / kPart;
  const auto numbers_of = [](std::int64_t words) {
    return std::to_string(words) + " words of 4 bytes";
  };
  if (from_host.on_both >= few) {
    return no_kernel("In " + where + ": the host passes to kernels " +
                     numbers_of(from_host.on_both) +
                     " that depend on the input and on the weights; the output has " +
                     std::to_string(shape.output_size()) +
                     " numbers. So the host computes, and the kernels move the result.");
  }
  constexpr std::int64_t kPerNoted = kKernelWordsPerNoted;
  const std::int64_t computed = written.on_both * kPerNoted;
  const bool all_noted = first.by_kernels.size() < kMostFlowWords / 4;
  if (all_noted && computed < few) {
    return no_kernel("In " + where + ": kernels write " + numbers_of(computed) +
                     " that depend on the input and on the weights; the output "
                     "has " +
                     std::to_string(shape.output_size()) +
                     " numbers. So the kernels do not compute it.");
  }
  // In bytes, two or four numbers fill a word.
  constexpr std::int64_t kPacked = 8;
  const auto is_enough = [&](std::int64_t on_input, std::int64_t on_weights) {
    return on_input >= shape.input_size() / kPacked && on_weights >= shape.weights_size() / kPacked;
  };
  if (is_enough(from_host.on_input, from_host.on_weights)) return {};
  // Words that differ by chance do not count; the same numbers again tell which these are.
  const Run again = run(seed, seed + 1);
  if (failed) return {true, failed};
  std::erase_if(first.by_host, [&](const auto& word) { return differs(again.by_host, word); });
  const auto [on_input, on_weights, on_both] = given();
  if (is_enough(on_input + on_both, on_weights + on_both)) return {};
  return no_kernel("In " + where + ": the host passes to kernels " + numbers_of(on_input) +
                   " that depend on the input and " + numbers_of(on_weights) +
                   " that depend on the weights; these have " + std::to_string(shape.input_size()) +
                   " and " + std::to_string(shape.weights_size()) +
                   " numbers. So a kernel reads host memory.");
}

}  // namespace

std::optional<Finding> check_data_flow(Submission& submission, const StageInfo& stage,
                                       const ConvShape& shape, std::uint64_t seed) {
  if (submission.device().device != Device::kEmulated) return std::nullopt;
  ConvShape few = shape;
  few.batch = std::min(shape.batch, kFewImages);
  const Outcome outcome = look_at(submission, stage, few, seed);
  // Not every file of the course works with few images.
  if (!outcome.has_failed || few == shape) return outcome.finding;
  return look_at(submission, stage, shape, seed).finding;
}

}  // namespace convlab::grader
