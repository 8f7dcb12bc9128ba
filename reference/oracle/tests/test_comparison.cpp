#include <bit>
#include <cfloat>
#include <limits>
#include <numeric>

#include "common/testing/catch.hpp"
#include "reference/oracle/comparison.hpp"
#include "reference/oracle/tests/fixtures.hpp"

using namespace convlab;
using oracle::Tolerance;

namespace {

const Tolerance kFp32 = Tolerance::of(Precision::kFp32);

/// A shape with its inputs and a right output, to spoil.
struct Problem {
  ConvShape shape;
  std::vector<float> input;
  std::vector<float> weights;
  std::vector<float> output;

  explicit Problem(const ConvShape& s)
      : shape(s),
        input(oracle::random_floats(s.input_size(), 11)),
        weights(oracle::random_floats(s.weights_size(), 12)),
        output(oracle::naive_floats(s, input, weights)) {}

  [[nodiscard]] oracle::ErrorReport compare(const Tolerance& tolerance = kFp32) const {
    return oracle::compare(shape, input.data(), weights.data(), output.data(), tolerance);
  }
};

// 10 columns: one vector of 8 and a rest.
const ConvShape kShape{
    .batch = 3, .out_channels = 5, .in_channels = 2, .height = 11, .width = 12, .kernel = 3};

float round_to_bits(float value, int bits) {
  const float scale = std::ldexp(1.0f, 24 - bits) + 1.0f;
  const float shifted = value * scale;  // Veltkamp's splitting keeps the leading `bits`
  return shifted - (shifted - value);
}

/// A number of 11 bits, enough of a half for sums between its smallest and its largest number.
class Half {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a stand-in for float
  Half(float value) : value_(round_to_bits(value, 11)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator float() const { return value_; }
  Half& operator+=(float more) { return *this = value_ + more; }

 private:
  float value_;
};

}  // namespace

TEST_CASE("comparison: right outputs in single precision pass, far below the bound") {
  for (const ConvShape& shape : oracle::test_shapes()) {
    CAPTURE(to_string(shape));
    const auto report = Problem(shape).compare();
    CHECK(report.passed(shape));
    CHECK(report.compared == shape.output_size());
    CHECK(report.worst_ratio <= 8.0);
    CHECK_FALSE(report.first);
  }
}

TEST_CASE("comparison: any single spoilt element is found, wherever it is") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const ConvShape shape{
      .batch = 1, .out_channels = 5, .in_channels = 2, .height = 5, .width = 11, .kernel = 3};
  Problem problem(shape);
  const std::vector<float> right = problem.output;
  for (std::size_t at = 0; at < right.size(); ++at) {
    for (const float spoilt : {nan, -nan, infinity, -infinity, right[at] + 0.01f, -right[at],
                               FLT_MAX, std::bit_cast<float>(oracle::kPoisonBits)}) {
      problem.output[at] = spoilt;
      const auto report = problem.compare();
      const bool found =
          report.wrong == 1 && !report.passed(shape) && report.first &&
          std::bit_cast<std::uint32_t>(report.first->got) == std::bit_cast<std::uint32_t>(spoilt);
      if (!found) FAIL("element " << at << " spoilt to " << spoilt << " went unnoticed");
      problem.output[at] = right[at];
      if (at % 13 != 0) break;  // all kinds at some places, NaN at every place
    }
  }
}

TEST_CASE("comparison: the first mismatch is the first in memory, with its place and values") {
  Problem problem(kShape);
  const std::int64_t at = ((1 * 5 + 3) * 9 + 7) * 10 + 8;
  for (std::size_t i = static_cast<std::size_t>(at); i < problem.output.size(); i += 77) {
    problem.output[i] += 1.0f;
  }
  const float right = problem.output[static_cast<std::size_t>(at)] - 1.0f;
  const auto report = problem.compare();
  REQUIRE(report.first);
  CHECK(report.first->image == 1);
  CHECK(report.first->map == 3);
  CHECK(report.first->row == 7);
  CHECK(report.first->column == 8);
  CHECK(report.first->got == problem.output[static_cast<std::size_t>(at)]);
  CHECK(report.first->expected == Approx(right).margin(1e-5));
}

TEST_CASE("comparison: counts by image, map, row and column show where errors lie") {
  Problem problem(kShape);
  // The last column of map 2 in every image.
  for (int b = 0; b < 3; ++b) {
    for (int h = 0; h < 9; ++h) {
      problem.output[static_cast<std::size_t>(((b * 5 + 2) * 9 + h) * 10 + 9)] = 99.0f;
    }
  }
  const auto report = problem.compare();
  CHECK(report.wrong == 27);
  CHECK(report.not_finite == 0);
  CHECK(report.wrong_in_image == std::vector<std::int64_t>{9, 9, 9});
  CHECK(report.wrong_in_map == std::vector<std::int64_t>{0, 0, 27, 0, 0});
  CHECK(report.wrong_in_row == std::vector<std::int64_t>(9, 3));
  CHECK(report.wrong_in_column == std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, 27});
}

TEST_CASE("comparison: an output that was never written is told from one with NaN") {
  Problem problem(kShape);
  std::fill(problem.output.begin(), problem.output.end(),
            std::bit_cast<float>(oracle::kPoisonBits));
  problem.output[0] = std::numeric_limits<float>::quiet_NaN();
  const auto report = problem.compare();
  CHECK(report.wrong == kShape.output_size());
  CHECK(report.not_finite == kShape.output_size());
  CHECK(report.unwritten == kShape.output_size() - 1);
}

TEST_CASE("comparison: inputs rounded to TF32 are out of fp32's bound and within their own") {
  const ConvShape shape{
      .batch = 8, .out_channels = 4, .in_channels = 1, .height = 40, .width = 40, .kernel = 7};
  Problem problem(shape);
  std::vector<float> input = problem.input;
  std::vector<float> weights = problem.weights;
  for (float& value : input) value = round_to_bits(value, 11);
  for (float& value : weights) value = round_to_bits(value, 11);
  problem.output = oracle::naive_floats(shape, input, weights);
  const auto strict = problem.compare();
  CHECK_FALSE(strict.passed(shape));
  CHECK(strict.worst_ratio > 500.0);
  CHECK(problem.compare(Tolerance::of(Precision::kTf32)).passed(shape));
  CHECK(problem.compare(Tolerance::of(Precision::kFp16)).worst_ratio < 16'388.0);
}

TEST_CASE("comparison: sums in half precision are out of fp16's bound and within their own") {
  // All products are positive: the sums grow, and so do their roundings.
  const ConvShape shape{
      .batch = 4, .out_channels = 4, .in_channels = 16, .height = 14, .width = 14, .kernel = 7};
  Problem problem(shape);
  for (float& value : problem.input) value = std::fabs(value);
  for (float& value : problem.weights) value = std::fabs(value);
  oracle::naive_loops<Half>(
      shape, problem.input, problem.weights,
      [&](std::int64_t i, Half sum, Half) { problem.output[static_cast<std::size_t>(i)] = sum; });
  CHECK_FALSE(problem.compare(Tolerance::of(Precision::kFp16)).passed(shape));
  const auto report = problem.compare(Tolerance::of(Precision::kFp16Sums));
  CHECK(report.passed(shape));
  CHECK(report.worst_ratio > 100'000.0);
  problem.output.back() *= 1.05f;  // far more than its roundings
  CHECK_FALSE(problem.compare(Tolerance::of(Precision::kFp16Sums)).passed(shape));
}

TEST_CASE("comparison: integer-valued inputs must agree exactly") {
  for (const ConvShape& shape : oracle::test_shapes()) {
    Problem problem(shape);
    problem.input = oracle::random_integers(shape.input_size(), 50, 5);
    problem.weights = oracle::random_integers(shape.weights_size(), 50, 6);
    problem.output = oracle::naive_floats(shape, problem.input, problem.weights);
    CHECK(problem.compare(Tolerance::exact()).passed(shape));
    float& last = problem.output.back();
    last = std::nextafter(last, 1e9f);
    const auto report = problem.compare(Tolerance::exact());
    CHECK(report.wrong == 1);
    CHECK(report.first->column == shape.out_width() - 1);
  }
}

TEST_CASE("comparison: results too small for single precision are no errors") {
  Problem problem(kShape);
  for (float& value : problem.input) value *= 1e-39f;
  problem.output.assign(problem.output.size(), 0.0f);  // a processor that flushes to zero
  const auto report = problem.compare();
  CHECK(report.passed(kShape));
  CHECK(report.worst_ratio <= 32.0);
}

TEST_CASE("comparison: an all-zero input asks for zeros") {
  Problem problem(kShape);
  problem.input.assign(problem.input.size(), 0.0f);
  problem.output.assign(problem.output.size(), 0.0f);
  CHECK(problem.compare().passed(kShape));
  problem.output[5] = 1e-20f;
  CHECK(problem.compare().wrong == 1);
}
