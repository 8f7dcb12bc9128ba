#include "grader/checks/narrow_index.hpp"

#include <algorithm>
#include <string>

#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/source_clues.hpp"
#include "reference/oracle/comparison.hpp"

namespace convlab::grader {

namespace {

// Where something else is wrong, too, the cases before have told it.
std::optional<Finding> wrong_numbers(Submission& submission, const StageInfo& stage,
                                     ElementCase test, std::uint64_t seed) {
  test.exact = true;
  test.probe = ElementCase::Probe::kNone;
  const CaseOutcome outcome = run_case(submission, stage, test, seed);
  const bool is_outside = outcome.finding && outcome.finding->id == "E-outside";
  return is_outside || outcome.result.error.wrong > 0 ? outcome.finding : std::nullopt;
}

// One tap and one channel: whether each wrong output has used a pixel beside the right one.
bool takes_neighbours(Submission& submission, const StageInfo& stage, const ConvShape& s) {
  const Arrays arrays = submission.prepare(s, Placement::kAligned);
  for (std::int64_t i = 0; i < s.input_size(); ++i) arrays.input[i] = static_cast<float>(i + 1);
  arrays.weights[0] = 1.0F;
  if (submission.run(stage.id).failure) return false;
  for (std::int64_t i = 0; i < s.output_size(); ++i) {
    const std::int64_t pixel =
        i / s.out_width() * s.stride * s.width + i % s.out_width() * s.stride;
    const std::int64_t distance = std::abs(static_cast<std::int64_t>(arrays.output[i]) - 1 - pixel);
    if (distance > 1 && distance != s.width) return false;
  }
  return true;
}

// The first weight that does not meet its pixel, if those before `limit` do; -1 otherwise.
std::int64_t first_lost_weight(Submission& submission, const StageInfo& stage, const ConvShape& s,
                               std::int64_t limit, std::uint64_t seed) {
  constexpr int kAround = 4;
  for (std::int64_t tap = limit - kAround; tap <= limit + kAround; ++tap) {
    const Arrays arrays = submission.prepare(s, Placement::kAligned);
    fill_random({.shape = s, .exact = true}, seed, arrays);
    std::fill_n(arrays.weights, s.weights_size(), 0.0F);
    arrays.weights[tap] = 1.0F;
    const bool is_met =
        !submission.run(stage.id).failure &&
        oracle::compare(s, arrays.input, arrays.weights, arrays.output, oracle::Tolerance::exact())
            .passed(s);
    if (!is_met) return tap > limit ? tap : -1;
  }
  return -1;
}

std::optional<Finding> check_float(Submission& submission, const StageInfo& stage,
                                   std::uint64_t seed) {
  const std::string lines = float_index(submission.sources());
  if (lines.empty()) return std::nullopt;
  const ElementCase large{"17 million outputs", {17, 1, 1, 1024, 1024, 1, 1}};
  if (wrong_numbers(submission, stage, large, seed)) {
    Finding found = finding("E-images", "In case '" + large.name + "' (" + to_string(large.shape) +
                                            "): right up to element 16 777 216, wrong from there "
                                            "on." +
                                            lines);
    found.cause =
        "The index is a float, which holds each integer only up to 16 777 216. A larger index is "
        "rounded to that of another element.";
    found.next = "Compute the index in std::size_t.";
    return found;
  }
  // The stride as a factor, as a divisor, or as one over it.
  for (const ElementCase& test : {ElementCase{"2100 columns", {1, 1, 1, 3, 2100, 1, 3}},
                                  ElementCase{"2100 columns", {1, 1, 1, 3, 2100, 1, 7}},
                                  ElementCase{"2100 rows", {1, 1, 1, 2100, 3, 1, 3}},
                                  ElementCase{"2100 rows", {1, 1, 1, 2100, 3, 1, 7}}}) {
    const auto wrong = wrong_numbers(submission, stage, test, seed);
    if (!wrong || !takes_neighbours(submission, stage, test.shape)) continue;
    Finding found = finding("E-index", wrong->seen +
                                           " Measured: each wrong output uses a pixel beside the "
                                           "right one." +
                                           lines);
    found.cause =
        "The index is computed in float: a quotient or a product that should be 7 may be "
        "6.9999995, and the cast to an integer makes it 6.";
    found.next = "Compute the index with integers only: h * stride + p, w * stride + q.";
    return found;
  }
  return std::nullopt;
}

std::optional<Finding> check_half(Submission& submission, const StageInfo& stage,
                                  std::uint64_t seed) {
  const SourceText& sources = submission.sources();
  std::string lines;
  for (const char* word : {"_Float16", "__int2half_rn", "__half", "half"}) {
    if (!lines.empty()) break;
    for (const auto& place : sources.lines_with({word}, {"include"})) {
      if (lines.size() < 300) lines += sources.quote(place.file, place.line);
    }
  }
  if (lines.empty()) return std::nullopt;
  constexpr int kWhole = 2048;
  const ElementCase test{.name = "2107 taps", .shape = {1, 1, 43, 8, 9, 7, 1}, .largest = 1};
  const auto wrong = wrong_numbers(submission, stage, test, seed);
  if (!wrong) return std::nullopt;
  const std::int64_t tap = first_lost_weight(submission, stage, test.shape, kWhole, seed);
  if (tap < 0) return std::nullopt;
  Finding found = finding("E-index", wrong->seen + " Measured: weights[" + std::to_string(tap) +
                                         "] does not meet its pixel; those before weights[2048] do."
                                         "\nLines with a half:" +
                                         lines);
  found.cause =
      "An index is kept in a half, which holds each integer only up to 2048. A larger odd index is "
      "rounded to that of another element.";
  found.next = "Keep every index in int or std::size_t; only the numbers may be halves.";
  return found;
}

}  // namespace

std::optional<Finding> check_narrow_index(Submission& submission, const StageInfo& stage,
                                          const CasePlan& plan, std::uint64_t seed) {
  if (plan.rules != Rules::kWorkbook) return std::nullopt;
  if (auto found = check_float(submission, stage, seed)) return found;
  return check_half(submission, stage, seed);
}

}  // namespace convlab::grader
