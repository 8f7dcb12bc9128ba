#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// A convolution of random numbers; every output element is compared.
struct ElementCase {
  std::string name{};
  ConvShape shape{};
  bool exact = false;    ///< whole numbers
  int largest = 8;       ///< of the whole numbers; of many products less, see fill_random
  bool one_row = false;  ///< only the last row of each filter is not 0: one dimension
  /// Where it is wrong, small shapes are tried to find out why: a file must be right at all shapes,
  /// at this one, nobody reads the finding, or a finding is known already.
  enum class Probe { kAnyShape, kThisShape, kNone, kKnown } probe = Probe::kAnyShape;
  [[nodiscard]] bool is_probed() const { return probe < Probe::kNone; }
  [[nodiscard]] bool is_of_any_shape() const { return probe == Probe::kAnyShape; }
};

/// The cases from simple to difficult: from one number to the four cases of the course and sizes
/// next to a tile's. The first failing case tells a student most.
const std::vector<ElementCase>& element_cases();

/// Fills input and weights: whole numbers from -largest to largest but 0, so small that halves hold
/// every sum, or numbers in [-1, 1) with all 24 bits. The same for a seed on every machine.
void fill_random(const ElementCase& test, std::uint64_t seed, const Arrays& arrays);

struct CaseOutcome {
  CaseResult result{};
  std::optional<Finding> finding{};
  Call call{};  ///< the first one, whose output was compared
};

/// Runs one case with numbers of this seed.
CaseOutcome run_case(Submission& submission, const StageInfo& stage, const ElementCase& test,
                     std::uint64_t seed);

/// The first finding of these cases, if there is one. @param wrong_cases  gets the name of its case
std::optional<Finding> first_finding(Submission& submission, const StageInfo& stage,
                                     const std::vector<ElementCase>& cases, std::uint64_t seed,
                                     std::vector<std::string>* wrong_cases = nullptr);

/// Of unwritten elements: a finding if they are written a little later, by threads that go on.
/// @param weights  the grader's own; the submission's copy is not trusted
std::optional<Finding> find_late_output(Submission& submission, const WrongOutput& wrong,
                                        const float* weights, const std::string& where);

/// Compares the output as it is now.
using Compare = std::function<oracle::ErrorReport()>;

/// Of an output that is wrong: whether it is only late, or the host computes it, which an emulated
/// device shows that withholds numbers: host code that sees only tokens of one array cannot compute
/// a convolution. It may prepare one of them: then the output is right with only the other one
/// withheld, and later calls stay so. Or a number of the program equals a token: then it is wrong
/// with the same tokens once more, and right with others. A race may be right with nothing
/// withheld, but not five times with a wrong run behind each.
/// @param wrong    its report is that of `compare` if the output is right now
/// @param weights  the grader's own
std::optional<Finding> find_who_computes(Submission& submission, const std::string& stage,
                                         const std::string& where, const float* weights,
                                         WrongOutput& wrong, const Compare& compare);

}  // namespace convlab::grader
