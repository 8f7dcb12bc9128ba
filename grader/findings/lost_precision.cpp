#include "grader/findings/lost_precision.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "grader/findings/catalogue.hpp"

namespace convlab::grader {

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

std::optional<Finding> find_lost_precision(const WrongOutput& wrong, const std::string& where) {
  const oracle::ErrorReport& report = wrong.report;
  if (report.not_finite > 0 || report.bound <= 0.0) return std::nullopt;
  const double reduced = oracle::error_bound(Precision::kTf32);
  const double sums = oracle::error_bound(Precision::kFp16Sums);
  constexpr std::int64_t kAffordable = 200'000'000;
  const std::string seen = "In " + where + ": " + describe(wrong.shape, report);
  // Rounding errors are everywhere; a few wrong taps may stay within the wide bound of half sums.
  const bool everywhere = 2 * report.wrong > wrong.shape.output_size();
  const bool nearly = report.worst_ratio <= (everywhere ? sums : reduced);
  const bool affordable = wrong.shape.multiply_adds() < kAffordable;
  // Whole numbers are far from the exact values, but easy to recognise.
  const std::string type = affordable ? lost_in(wrong) : std::string();
  if (!nearly && type.empty()) return std::nullopt;
  Finding found = finding(
      "E-precision", seen + " All are nearly right. The largest error is " +
                         std::to_string(static_cast<long long>(report.worst_ratio)) +
                         " · 2^-24 of the sum of absolute products; " +
                         std::to_string(static_cast<long long>(report.bound)) + " are allowed.");
  if (!type.empty()) found.cause = type;
  return found;
}

}  // namespace convlab::grader
