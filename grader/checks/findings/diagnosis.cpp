#include "grader/checks/findings/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "grader/checks/findings/catalogue.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::grader {

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return text;
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
  const bool may_be_shorter =
      wrong.tolerance.bound > oracle::error_bound(Precision::kFp32, wrong.shape.taps());
  return finding(may_be_shorter ? "E-precision/stage" : "E-precision", seen);
}

Finding diagnose(const WrongOutput& wrong, const std::string& where) {
  if (!wrong.is_whole && is_nearly_right(wrong)) return lost_precision(wrong, where);
  const oracle::ErrorReport& report = wrong.report;
  const std::string id = report.unwritten == wrong.shape.output_size() ? "E-never-written"
                         : report.not_finite > report.unwritten        ? "E-nan"
                         : report.unwritten > 0                        ? "E-partly-written"
                                                                       : "E-wrong";
  const float* output = wrong.arrays.output;
  const bool is_infinite =
      id == "E-nan" && std::none_of(output, output + wrong.shape.output_size(),
                                    [](float each) { return std::isnan(each); });
  return finding(is_infinite ? id + "/infinity" : id,
                 "In " + where + ": " + describe(wrong.shape, report));
}

}  // namespace convlab::grader
