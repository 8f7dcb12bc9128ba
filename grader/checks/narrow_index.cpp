#include <string>
#include <vector>

#include "grader/checks/behaviour_check.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/source_clues.hpp"

namespace convlab::grader {

namespace {

/// A shape at which a type no longer holds an index.
struct Limit {
  bool of_half;  ///< else of float; where the file has no line with that type, nothing is run
  ElementCase test;
  const char* name;  ///< of the finding
};

// Where something else is wrong, too, the cases before have told it.
std::optional<Finding> wrong_numbers(Submission& submission, const StageInfo& stage,
                                     ElementCase test, std::uint64_t seed) {
  test.exact = true;
  test.largest = 1;
  test.probe = ElementCase::Probe::kNone;
  const CaseOutcome outcome = run_case(submission, stage, test, seed);
  const bool is_outside = outcome.finding && outcome.finding->id == "E-outside";
  return is_outside || outcome.result.error.wrong > 0 ? outcome.finding : std::nullopt;
}

std::string lines_with_half(const SourceText& sources) {
  std::string lines;
  for (const char* word : {"_Float16", "__int2half_rn", "__half", "half"}) {
    for (const auto& place : sources.lines_with({word}, {"include"})) {
      constexpr std::size_t kEnough = 300;
      if (lines.size() < kEnough) lines += sources.quote(place.file, place.line);
    }
    if (!lines.empty()) break;
  }
  return lines;
}

}  // namespace

std::optional<Finding> check_narrow_index(Submission& submission, const StageInfo& stage,
                                          const CasePlan& plan, std::uint64_t seed) {
  if (plan.rules != Rules::kWorkbook) return std::nullopt;
  const std::string floats = float_index(submission.sources());
  const std::string halves = lines_with_half(submission.sources());
  static const std::vector<Limit> limits = {
      {false, {"17 million outputs", {17, 1, 1, 1024, 1024, 1, 1}}, "E-images/float"},
      // The stride as a factor, as a divisor, or as one over it.
      {false, {"2100 columns", {1, 1, 1, 3, 2100, 1, 3}}, "E-index/float"},
      {false, {"2100 columns", {1, 1, 1, 3, 2100, 1, 7}}, "E-index/float"},
      {false, {"2100 rows", {1, 1, 1, 2100, 3, 1, 3}}, "E-index/float"},
      {false, {"2100 rows", {1, 1, 1, 2100, 3, 1, 7}}, "E-index/float"},
      {true, {"2107 taps", {1, 1, 43, 8, 9, 7, 1}}, "E-index/half"}};
  for (const auto& [of_half, test, name] : limits) {
    const std::string& lines = of_half ? halves : floats;
    if (lines.empty()) continue;
    const auto wrong = wrong_numbers(submission, stage, test, seed);
    if (!wrong) continue;
    // Just below the limit it must be right.
    const ElementCase below{"below", of_half ? ConvShape{1, 1, 41, 8, 9, 7, 1} : ConvShape{}};
    if (!wrong_numbers(submission, stage, below, seed)) return finding(name, wrong->seen + lines);
  }
  return std::nullopt;
}

}  // namespace convlab::grader
