#include "grader/checks/findings/diagnosis.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <optional>
#include <vector>

#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/findings/course_findings.hpp"

namespace convlab::grader {

namespace {

using Counts = std::vector<std::int64_t>;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return text;
}

std::int64_t sum(const Counts& counts, std::size_t begin, std::size_t end) {
  return std::accumulate(counts.begin() + static_cast<std::ptrdiff_t>(begin),
                         counts.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{0});
}

// Wrong only in the last one or two rows or columns, and nearly everywhere there.
bool at_the_end(const Counts& counts, std::int64_t per_line) {
  if (counts.size() < 4) return false;
  const std::int64_t inner = sum(counts, 0, counts.size() - 2);
  return inner == 0 && counts.back() * 2 > per_line;
}

bool some_are_right(const Counts& counts) {
  return std::any_of(counts.begin(), counts.end(), [](std::int64_t n) { return n == 0; });
}

// Wrong elements lie in the last rows, the last columns, or both; the rest is right.
bool only_at_borders(const ConvShape& shape, const oracle::ErrorReport& report) {
  if (report.wrong == shape.output_size()) return false;  // a tiny output is all border
  const std::int64_t row = shape.output_size() / shape.out_height();
  const std::int64_t column = shape.output_size() / shape.out_width();
  // A single row or column is all border, as in a product of matrices.
  const bool has_rows = shape.out_height() > 1;
  const bool has_columns = shape.out_width() > 1;
  if ((has_rows && at_the_end(report.wrong_in_row, row)) ||
      (has_columns && at_the_end(report.wrong_in_column, column))) {
    return true;
  }
  if (!has_rows || !has_columns) return false;
  // Both: nothing else is wrong. The corner counts twice.
  const std::int64_t in_last_row = report.wrong_in_row.back();
  const std::int64_t in_last_column = report.wrong_in_column.back();
  const std::int64_t corner = std::int64_t{shape.batch} * shape.out_channels;
  const std::int64_t both = in_last_row + in_last_column;
  return in_last_row * 2 > row && in_last_column * 2 > column && report.wrong <= both &&
         report.wrong >= both - corner;
}

bool most_are_wrong(const Counts& counts) {
  const auto wrong = std::count_if(counts.begin(), counts.end(), [](auto n) { return n > 0; });
  return 2 * wrong > static_cast<std::ptrdiff_t>(counts.size());
}

// Whether the output keeps the bound of a class.
bool fits(const WrongOutput& wrong, Precision precision) {
  if (wrong.report.worst_ratio <= oracle::error_bound(precision, wrong.shape.taps())) return true;
  const auto tolerance = oracle::Tolerance::of(precision, wrong.shape);
  // Small numbers may have large errors in halves.
  return tolerance.smallest_normal > 0.0 &&
         oracle::compare(wrong.shape, wrong.arrays.input, wrong.arrays.weights, wrong.arrays.output,
                         tolerance)
             .passed(wrong.shape);
}

// The id that the pattern of the whole report suggests.
std::string id_of_pattern(const WrongOutput& wrong) {
  const ConvShape& shape = wrong.shape;
  const oracle::ErrorReport& report = wrong.report;
  if (report.unwritten == shape.output_size()) return "E-never-written";
  if (leaves_out_last_tile(wrong)) return "E-rounded-down";
  if (report.unwritten > 0 && report.unwritten == report.not_finite) return "E-partly-written";
  if (report.not_finite > 0) return "E-nan";
  if (only_at_borders(shape, report)) return "E-borders";
  if (report.wrong_in_image.front() == 0 && some_are_right(report.wrong_in_image)) {
    return "E-images";
  }
  if (some_are_right(report.wrong_in_map)) return "E-maps";
  if (some_are_right(report.wrong_in_row) || some_are_right(report.wrong_in_column)) {
    return "E-blocks";
  }
  return "E-wrong";
}

}  // namespace

std::string place_of(const ConvShape& shape, const oracle::Mismatch& element) {
  // The puzzles have one row of numbers.
  const bool is_row = shape.output_size() == shape.out_width() && shape.out_width() > 1;
  if (is_row) return "element " + std::to_string(element.column);
  return "image b=" + std::to_string(element.image) + ", map m=" + std::to_string(element.map) +
         ", row h=" + std::to_string(element.row) + ", column w=" + std::to_string(element.column);
}

std::string describe(const ConvShape& shape, const oracle::ErrorReport& report) {
  std::string text = std::to_string(report.wrong) + " of " + std::to_string(shape.output_size()) +
                     " elements are wrong" +
                     (report.unwritten > 0 && report.unwritten < report.wrong
                          ? ", " + std::to_string(report.unwritten) + " of them never written."
                          : ".");
  if (!report.first) return text;
  const oracle::Mismatch& first = *report.first;
  const bool unwritten = report.unwritten == report.wrong;
  return text + " The first: " + place_of(shape, first) + ": expected " + number(first.expected) +
         ", got " +
         (unwritten ? "nothing: it still holds its value from before the call"
                    : number(static_cast<double>(first.got))) +
         ".";
}

namespace {

using Floats = std::vector<float>;

// To nearest, ties to even, without this many bits of the significand. Ignores subnormals: numbers
// that small do not matter.
float rounded(float value, int bits) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t half = 1U << (bits - 1);
  const std::uint32_t odd = word >> bits & 1U;
  return std::bit_cast<float>((word + half - 1U + odd) & ~((1U << bits) - 1U));
}

struct Type {
  const char* name;
  float (*round)(float);
};

constexpr int kHalfLost = 13;  // of the 23 bits of a float, half keeps 10
constexpr int kBfloatLost = 16;
constexpr float kLargest = 1e6F;  // of any sum of the grader's numbers

const Type kTypes[] = {
    {"half or TF32", [](float value) { return rounded(value, kHalfLost); }},
    {"bfloat16", [](float value) { return rounded(value, kBfloatLost); }},
    {"int", [](float value) { return std::trunc(value); }},
};

Floats through(const Type& type, const float* values, std::int64_t count) {
  Floats result(values, values + count);
  std::transform(result.begin(), result.end(), result.begin(), type.round);
  return result;
}

// The type that the output shows: all its numbers have that type, or it is right for such inputs.
std::string lost_in(const WrongOutput& wrong) {
  const ConvShape& s = wrong.shape;
  const float* output = wrong.arrays.output;
  const float* end = output + s.output_size();
  for (const Type& type : {kTypes[2], kTypes[1], kTypes[0]}) {
    if (std::all_of(output, end, [&](float value) {
          return type.round(value) == value && std::abs(value) < kLargest;
        })) {
      return std::string("Every output is a number that ") +
             (std::string(type.name) == "half or TF32" ? "half" : type.name) +
             " can hold, so the sum or the stored value has that type.";
    }
  }
  for (const Type& type : kTypes) {
    const Floats input = through(type, wrong.arrays.input, s.input_size());
    const Floats weights = through(type, wrong.arrays.weights, s.weights_size());
    const auto fits = [&](const float* in, const float* w) {
      return oracle::compare(s, in, w, output, wrong.tolerance).passed(s);
    };
    const std::string name = type.name;
    if (fits(input.data(), weights.data()))
      return "Input and weights were rounded to " + name + ".";
    if (fits(input.data(), wrong.arrays.weights)) return "The input was rounded to " + name + ".";
    if (fits(wrong.arrays.input, weights.data()))
      return "The weights were rounded to " + name + ".";
  }
  return {};
}

}  // namespace

std::optional<Precision> looser_class(const WrongOutput& wrong) {
  const oracle::ErrorReport& report = wrong.report;
  if (wrong.tolerance.bound == 0.0 || report.not_finite > 0) return std::nullopt;
  const bool everywhere =
      most_are_wrong(report.wrong_in_image) && most_are_wrong(report.wrong_in_map) &&
      most_are_wrong(report.wrong_in_row) && most_are_wrong(report.wrong_in_column);
  using enum Precision;
  for (const Precision precision :
       {kTf32, kFp16, kFp16Products, kTf32Truncated, kBf16, kBf16Truncated, kFp16Sums}) {
    const double bound = oracle::error_bound(precision, wrong.shape.taps());
    if (bound < wrong.tolerance.bound) continue;
    const bool narrow = bound <= oracle::error_bound(kTf32Truncated, wrong.shape.taps());
    if ((narrow || everywhere) && fits(wrong, precision)) return precision;
  }
  return std::nullopt;
}

std::optional<Finding> find_lost_precision(const WrongOutput& wrong, const std::string& where) {
  const oracle::ErrorReport& report = wrong.report;
  if (report.not_finite > 0 || report.bound <= 0.0) return std::nullopt;
  constexpr std::int64_t kAffordable = 200'000'000;
  const std::string seen = "In " + where + ": " + describe(wrong.shape, report);
  const std::optional<Precision> looser = looser_class(wrong);
  // Rounding errors are everywhere.
  const bool nearly =
      2 * report.wrong > wrong.shape.output_size() && fits(wrong, Precision::kFp16Sums);
  const bool affordable = wrong.shape.multiply_adds() < kAffordable;
  // Whole numbers are far from the exact values, but easy to recognise.
  const std::string type = affordable ? lost_in(wrong) : std::string();
  if (!looser && !nearly && type.empty()) return std::nullopt;
  Finding found = finding(
      "E-precision", seen + " All are nearly right. The largest error is " +
                         std::to_string(static_cast<long long>(report.worst_ratio)) +
                         " · 2^-24 of the sum of absolute products; " +
                         std::to_string(static_cast<long long>(report.bound)) + " are allowed.");
  if (!type.empty()) found.cause = type;
  if (looser) found.seen += std::string(" The largest error fits ") + describe(*looser) + ".";
  return found;
}

Finding diagnose(const WrongOutput& wrong, const std::string& where) {
  if (auto found = find_lost_precision(wrong, where)) return *found;
  return finding(id_of_pattern(wrong), "In " + where + ": " + describe(wrong.shape, wrong.report));
}

}  // namespace convlab::grader
