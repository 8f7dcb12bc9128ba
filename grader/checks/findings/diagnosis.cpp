#include "grader/checks/findings/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <optional>
#include <vector>

#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/findings/course_findings.hpp"
#include "reference/oracle/oracle.hpp"

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

bool is_nearly_right(const WrongOutput& wrong) {
  constexpr double kNearly = 0.02;
  return wrong.report.not_finite == 0 &&
         wrong.report.worst_ratio * oracle::kUnitRoundoff <= kNearly;
}

Finding lost_precision(const WrongOutput& wrong, const std::string& where) {
  const oracle::ErrorReport& report = wrong.report;
  std::string seen = "In " + where + ": " + describe(wrong.shape, report);
  if (is_nearly_right(wrong)) {
    seen += " All are nearly right. The largest error is " +
            std::to_string(static_cast<long long>(report.worst_ratio)) +
            " · 2^-24 of the sum of absolute products; " +
            std::to_string(static_cast<long long>(report.bound)) + " are allowed.";
  }
  Finding found = finding("E-precision", seen);
  if (const auto looser = looser_class(wrong)) {
    found.seen += std::string(" The largest error fits ") + describe(*looser) + ".";
  }
  return found;
}

Finding diagnose(const WrongOutput& wrong, const std::string& where) {
  if (looser_class(wrong)) return lost_precision(wrong, where);
  Finding found =
      finding(id_of_pattern(wrong), "In " + where + ": " + describe(wrong.shape, wrong.report));
  const float* output = wrong.arrays.output;
  if (found.id == "E-nan" && std::none_of(output, output + wrong.shape.output_size(),
                                          [](float each) { return std::isnan(each); })) {
    found.title = "the output holds infinity";
    found.cause =
        "A number is divided by zero, or it grew beyond its type. It is no variable without a "
        "value.";
    found.next = "Look for each division: can what it divides by be 0?";
  }
  return found;
}

}  // namespace convlab::grader
