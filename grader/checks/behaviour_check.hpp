#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/serve/finding.hpp"
#include "grader/checks/rules.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// Checks of behaviour that a right output does not show. Each runs its own convolutions and
/// compares every element, like the cases before.
struct Behaviour {
  Submission& submission;
  const StageInfo& stage;
  const CasePlan& plan;
  std::uint64_t seed;
  bool any_shape = plan.rules == Rules::kWorkbook;
  std::vector<std::string> wrong_cases{};  ///< names, of other_orders

  /// If every shape must be right: drawn shapes, then known ones again in another order.
  std::optional<Finding> hidden_shapes();

  /// For a file that keeps an index in a float or a half: shapes at which these no longer hold
  /// every whole number, or at which a quotient is rounded down to the number before.
  std::optional<Finding> narrow_index();

  /// Which phase computes: each sees another input, and the output must belong to that of convolve.
  /// On a device, convolve must also launch kernels, and compute from the device's data.
  std::optional<Finding> phases();

  /// Whether each number of the input matters, from call to call and between prolog and convolve:
  /// who stores results may look at a few numbers only.
  std::optional<Finding> small_changes();

  /// On the CPU: whether a repeated input, also scaled or in another order, takes less than a
  /// quarter of the time of a new one. An image of each output, drawn from the seed, must be right.
  std::optional<Finding> repeated_inputs();

  /// Whether threads go on computing after the convolution has returned.
  std::optional<Finding> stillness();

  /// On an emulated device: the output after a second convolve.
  std::optional<Finding> second_convolve();

  /// The same with so little memory that a batch of 11 images takes several slices; running out of
  /// it is no finding.
  std::optional<Finding> little_memory();

  /// The same with threads, warps and blocks in reverse order, and with streams that work only when
  /// the host waits for them.
  std::optional<Finding> other_orders();

  /// All that only an emulated device shows; the first finding ends it.
  std::optional<Finding> on_emulated();

 private:
  [[nodiscard]] CaseOutcome run(const ElementCase& test, std::uint64_t with_seed) const {
    return run_case(submission, stage, test, with_seed);
  }
  std::optional<Finding> wrong_numbers(ElementCase test);
};

/// The shapes that hidden_shapes() draws.
std::vector<ElementCase> drawn_cases(std::uint64_t seed);

/// After a call: whether threads go on computing while nothing is asked.
std::optional<Finding> find_idle_work(Submission& submission);

}  // namespace convlab::grader
