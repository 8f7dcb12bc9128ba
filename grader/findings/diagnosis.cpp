#include "grader/findings/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <vector>

#include "grader/findings/catalogue.hpp"
#include "grader/findings/course_findings.hpp"
#include "grader/findings/lost_precision.hpp"

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
  if (at_the_end(report.wrong_in_row, row) || at_the_end(report.wrong_in_column, column)) {
    return true;
  }
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

// The tightest class whose bound the output keeps. The bound of sums in halves is so wide that a
// few wrong taps stay within it; but those are local, and rounding errors are everywhere.
std::optional<Precision> looser_class(const WrongOutput& wrong) {
  const oracle::ErrorReport& report = wrong.report;
  if (wrong.tolerance.bound == 0.0 || report.not_finite > 0) return std::nullopt;
  const bool everywhere =
      most_are_wrong(report.wrong_in_image) && most_are_wrong(report.wrong_in_map) &&
      most_are_wrong(report.wrong_in_row) && most_are_wrong(report.wrong_in_column);
  for (const Precision precision : {Precision::kTf32, Precision::kBf16, Precision::kFp16Sums}) {
    const double bound = oracle::error_bound(precision);
    if (bound <= wrong.tolerance.bound || report.worst_ratio > bound) continue;
    if (precision == Precision::kTf32 || everywhere) return precision;
  }
  return std::nullopt;
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

Finding diagnose(const WrongOutput& wrong, const std::string& where) {
  if (auto found = recognise(wrong, where)) return *found;
  if (auto found = find_lost_precision(wrong, where)) {
    if (const auto looser = looser_class(wrong)) {
      found->seen += std::string(" The largest error fits ") + describe(*looser) + ".";
    }
    return *found;
  }
  return finding(id_of_pattern(wrong), "In " + where + ": " + describe(wrong.shape, wrong.report));
}

}  // namespace convlab::grader
