#include "reference/oracle/comparison.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <mutex>

#include "reference/oracle/image_oracle.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::oracle {

namespace {

/// What an output must satisfy: |output − value| ≤ relative · (magnitude + softening).
struct RowBound {
  double relative;
  double softening;  ///< positive: keeps 0/0 out of the ratio
};

constexpr std::uint32_t kExponentBits = 0x7f80'0000;

bool is_finite(std::uint32_t bits) {
  return (bits & kExponentBits) != kExponentBits;
}

// Underflow widens the bound as if each magnitude were a little larger.
RowBound row_bound(const ConvShape& shape, const Tolerance& tolerance) {
  constexpr double kTiny = 1e-300;
  const double relative = tolerance.bound * kUnitRoundoff;
  return {
      .relative = relative,
      .softening = relative > 0.0 ? tolerance.underflow * shape.taps() / relative + kTiny : kTiny};
}

/// The findings in some images. Ratios are relative to Σ|a||b| until they are reported.
class Tally {
 public:
  Tally(const ConvShape& shape, const RowBound& bound) : shape_(shape), bound_(bound) {}

  void check_row(const Mismatch& start, const double* values, const double* magnitudes,
                 const float* outputs) {
    const int width = shape_.out_width();
    report_.compared += width;
    if (is_right(values, magnitudes, outputs)) return;
    Mismatch place = start;
    for (place.column = 0; place.column < width; ++place.column) {
      const int i = place.column;
      check_element(place, values[i], magnitudes[i], outputs[i]);
    }
  }

  void merge(const Tally& other) {
    const ErrorReport& from = other.report_;
    report_.compared += from.compared;
    report_.wrong += from.wrong;
    report_.not_finite += from.not_finite;
    report_.unwritten += from.unwritten;
    report_.worst_ratio = std::max(report_.worst_ratio, from.worst_ratio);
    if (from.first) keep_first(*from.first);
  }

  [[nodiscard]] const ErrorReport& report() const { return report_; }

 private:
  // Most rows are: of these it keeps the worst ratio, without a branch for each element.
  bool is_right(const double* values, const double* magnitudes, const float* outputs) {
    double worst = report_.worst_ratio;
    int bad = 0;
#pragma omp simd reduction(max : worst) reduction(| : bad)
    for (int i = 0; i < shape_.out_width(); ++i) {
      const double error = std::fabs(static_cast<double>(outputs[i]) - values[i]);
      const double softened = magnitudes[i] + bound_.softening;
      bad |= error <= softened * bound_.relative ? 0 : 1;
      bad |= is_finite(std::bit_cast<std::uint32_t>(outputs[i])) ? 0 : 1;
      worst = std::max(worst, error / softened);
    }
    if (bad == 0) report_.worst_ratio = worst;
    return bad == 0;
  }

  void check_element(Mismatch& place, double value, double magnitude, float output) {
    const auto bits = std::bit_cast<std::uint32_t>(output);
    const bool finite = is_finite(bits);
    const double error = std::fabs(static_cast<double>(output) - value);
    const double softened = magnitude + bound_.softening;
    if (finite) report_.worst_ratio = std::max(report_.worst_ratio, error / softened);
    if (finite && error <= softened * bound_.relative) return;
    ++report_.wrong;
    if (!finite) ++report_.not_finite;
    if (bits == kPoisonBits) ++report_.unwritten;
    place.expected = value;
    place.got = output;
    keep_first(place);
  }

  void keep_first(const Mismatch& place) {
    if (!report_.first || place < *report_.first) report_.first = place;
  }

  ConvShape shape_;
  RowBound bound_;
  ErrorReport report_;
};

}  // namespace

double error_bound(Precision precision, int taps) {
  constexpr double kSums = 32.0;
  constexpr double kLambda = 3.0;
  double inputs = 0.0;
  double products = 0.0;
  double sums = kSums * kUnitRoundoff;
  switch (precision) {
    case Precision::kFp32:
      break;
    case Precision::kTf32:
    case Precision::kFp16:
      inputs = kHalfRoundoff;
      break;
    case Precision::kTf32Truncated:
      inputs = 2.0 * kHalfRoundoff;
      break;
    case Precision::kBf16:
      inputs = 0x1p-8;
      break;
    case Precision::kBf16Truncated:
      inputs = 0x1p-7;
      break;
    case Precision::kFp16Sums:
      sums = std::min<double>(taps, kLambda * std::sqrt(taps)) * kHalfRoundoff;
      [[fallthrough]];
    case Precision::kFp16Products:
      inputs = products = kHalfRoundoff;
      break;
  }
  const double of_products = (1.0 + inputs) * (1.0 + inputs) * (1.0 + products) - 1.0;
  return (of_products + sums) / kUnitRoundoff;
}

Tolerance Tolerance::of(Precision precision, const ConvShape& shape) {
  constexpr double kSmallestNormalHalf = 0x1p-14;
  const bool half_products =
      precision == Precision::kFp16Sums || precision == Precision::kFp16Products;
  const bool half_inputs = half_products || precision == Precision::kFp16;
  // A product in halves is rounded once; sums in their subnormal range are exact. A processor may
  // flush single-precision results below the normal range to zero.
  return {.bound = error_bound(precision, shape.taps()),
          .underflow =
              half_products ? kHalfRoundoff * kSmallestNormalHalf : static_cast<double>(FLT_MIN),
          .smallest_normal = half_inputs ? kSmallestNormalHalf : 0.0};
}

Tolerance Tolerance::of_transform(const ConvShape& shape, const float* input,
                                  const float* weights) const {
  const auto largest = [](const float* numbers, std::int64_t count) {
    float found = 0.0F;
    for (std::int64_t i = 0; i < count; ++i) found = std::max(found, std::abs(numbers[i]));
    return static_cast<double>(found);
  };
  Tolerance wide = *this;
  wide.underflow += bound * kUnitRoundoff * largest(input, shape.input_size()) *
                    largest(weights, shape.weights_size());
  return wide;
}

ErrorReport compare(const ConvShape& shape, const float* input, const float* weights,
                    const float* output, const Tolerance& tolerance) {
  validate(shape);
  const PreparedWeights prepared(shape, weights, tolerance.smallest_normal);
  const RowBound bound = row_bound(shape, tolerance);
  Tally total(shape, bound);
  std::mutex total_mutex;

  parallel_images(
      shape.batch, threads_for(shape.multiply_adds()), [&] { return ImageOracle(shape, prepared); },
      [&](ImageOracle& oracle, int image) {
        Tally tally(shape, bound);
        oracle.load(input + image * shape.input_image_size(), tolerance.smallest_normal);
        const float* image_output = output + image * shape.output_image_size();
        oracle.for_each_row(
            [&](const OutputRow& at, const double* values, const double* magnitudes) {
              tally.check_row({.image = image, .map = at.map, .row = at.row}, values, magnitudes,
                              image_output + at.begin);
            });
        const std::lock_guard lock(total_mutex);
        total.merge(tally);
      });

  ErrorReport report = total.report();
  report.worst_ratio /= kUnitRoundoff;
  report.bound = tolerance.bound;
  return report;
}

}  // namespace convlab::oracle
