#include "grader/checks/fresh_numbers.hpp"

#include <cmath>
#include <vector>

#include "grader/checks/probe/terms.hpp"
#include "reference/oracle/image_oracle.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::grader {

FreshNumbers FreshNumbers::draw() {
  static std::random_device device;
  return FreshNumbers(std::uint64_t{device()} << 32 | device());
}

void FreshNumbers::fill(float* numbers, std::int64_t count) const {
  constexpr std::int64_t kWorthThreads = 1 << 20;
#pragma omp parallel for simd schedule(static) if (count > kWorthThreads)
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = at(i);
}

namespace {

/// One element, from its place in the output.
bool is_right(const ConvShape& s, const FreshNumbers& input, const float* weights, float got,
              std::int64_t place, const oracle::Tolerance& tolerance) {
  const auto magnitude_of = [&](double value) {
    return oracle::rounding_magnitude(value, tolerance.smallest_normal);
  };
  probe::Label at = probe::output_label(s, place);
  double sum = 0.0;
  double magnitude = 0.0;
  for (at.c = 0; at.c < s.in_channels; ++at.c) {
    for (at.p = 0; at.p < s.kernel; ++at.p) {
      const std::int64_t in_row = probe::input_index(s, at);
      const float* taps = weights + probe::weight_index(s, at);
      for (std::int64_t q = 0; q < s.kernel; ++q) {
        const double x = input.at(in_row + q);
        const double weight = taps[q];
        sum += x * weight;
        magnitude += magnitude_of(x) * magnitude_of(weight);
      }
    }
  }
  const double allowed =
      tolerance.bound * oracle::kUnitRoundoff * magnitude + tolerance.underflow * s.taps();
  return std::isfinite(got) && std::fabs(double{got} - sum) <= allowed;
}

}  // namespace

bool spot_check(const ConvShape& shape, const FreshNumbers& input, const float* weights,
                const float* output, const oracle::Tolerance& tolerance, int count,
                std::mt19937_64& engine) {
  const auto size = static_cast<std::uint64_t>(shape.output_size());
  std::vector<std::int64_t> places = {0, shape.output_size() - 1};
  for (int i = 0; i < count; ++i) places.push_back(static_cast<std::int64_t>(engine() % size));
  bool right = true;
#pragma omp parallel for reduction(&& : right)
  for (const std::int64_t place : places) {
    right = right && is_right(shape, input, weights, output[place], place, tolerance);
  }
  return right;
}

}  // namespace convlab::grader
