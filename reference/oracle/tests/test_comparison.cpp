#include <bit>
#include <cfloat>
#include <limits>
#include <numeric>

#include "common/base/tests/support/catch.hpp"
#include "common/network/preset.hpp"
#include "reference/oracle/comparison.hpp"
#include "reference/oracle/tests/fixtures.hpp"

using namespace convlab;
using oracle::Tolerance;

namespace {

const Tolerance kFp32 = Tolerance::of(Precision::kFp32, {});

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

// As a half: to nearest even, numbers below 2^-14 to multiples of 2^-24.
float to_half(float value) {
  if (std::fabs(value) >= 0x1p-14f) return round_to_bits(value, 11);
  return std::ldexp(std::nearbyint(std::ldexp(value, 24)), -24);
}

float cut_off(float value, int bits) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & ~((1U << bits) - 1U));
}

/// What a program of a class computes: each input, product and sum passes through these.
struct Roundings {
  Precision precision;
  float (*input)(float);
  float (*product)(float) = [](float value) { return value; };
  float (*sum)(float) = [](float value) { return value; };
};

const Roundings kRoundings[] = {
    {Precision::kFp32, [](float value) { return value; }},
    {Precision::kTf32, [](float value) { return round_to_bits(value, 11); }},
    {Precision::kTf32Truncated, [](float value) { return cut_off(value, 13); }},
    {Precision::kFp16, to_half},
    {Precision::kBf16, [](float value) { return round_to_bits(value, 8); }},
    {Precision::kBf16Truncated, [](float value) { return cut_off(value, 16); }},
    {Precision::kFp16Products, to_half, to_half},
    {Precision::kFp16Sums, to_half, to_half, to_half},
};

/// The output of one image, whose products are added in the order of the taps.
std::vector<float> rounded_output(const ConvShape& s, const std::vector<float>& input,
                                  const std::vector<float>& weights, const Roundings& roundings,
                                  int left_out = -1) {
  std::vector<float> output;
  for (int m = 0; m < s.out_channels; ++m) {
    for (int h = 0; h < s.out_height(); ++h) {
      for (int w = 0; w < s.out_width(); ++w) {
        float& sum = output.emplace_back(0.0f);
        for (int tap = 0; tap < s.taps(); ++tap) {
          if (tap == left_out) continue;
          const int c = tap / (s.kernel * s.kernel), p = tap / s.kernel % s.kernel,
                    q = tap % s.kernel;
          const auto from = static_cast<std::size_t>((c * s.height + h + p) * s.width + w + q);
          const float a = roundings.input(input[from]);
          const float b = roundings.input(weights[static_cast<std::size_t>(m * s.taps() + tap)]);
          sum = roundings.sum(sum + roundings.product(a * b));
        }
      }
    }
  }
  return output;
}

/// The convolutions of all networks, one image and as few rows as have every tap.
std::vector<ConvShape> network_shapes() {
  std::vector<ConvShape> shapes;
  for (const std::string& name : preset_names()) {
    for (ConvShape shape : load_preset(name).conv_shapes(1)) {
      shape.height = shape.kernel + 1;
      shapes.push_back(shape);
    }
  }
  return shapes;
}

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

TEST_CASE("comparison: each class holds for every network, on signed, positive and small data") {
  for (const ConvShape& shape : network_shapes()) {
    for (const auto& [smallest, largest] : {std::pair{-1.0f, 1.0f}, {0.0f, 1.0f}, {0.5f, 0.51f}}) {
      for (const float scale : {1.0f, 30.0f, 0x1p-9f, 1e-5f, 0x1p-26f}) {
        std::vector<float> input = oracle::random_floats(shape.input_size(), 21, smallest, largest);
        const auto weights = oracle::random_floats(shape.weights_size(), 22, smallest, largest);
        for (float& value : input) value *= scale;
        for (const Roundings& each : kRoundings) {
          const std::vector<float> output = rounded_output(shape, input, weights, each);
          const auto report = oracle::compare(shape, input.data(), weights.data(), output.data(),
                                              Tolerance::of(each.precision, shape));
          CAPTURE(to_string(shape), scale, to_string(each.precision), report.worst_ratio,
                  report.bound);
          CHECK(report.passed(shape));
        }
      }
    }
  }
}

TEST_CASE("comparison: positive data leave the bounds of tighter classes") {
  const ConvShape shape = load_preset("fa23").conv_shapes(1)[1];
  std::vector<float> input = oracle::random_floats(shape.input_size(), 31, 0.0f);
  std::vector<float> weights = oracle::random_floats(shape.weights_size(), 32, 0.0f);
  const auto passes = [&](std::size_t roundings, Precision precision) {
    const auto output = rounded_output(shape, input, weights, kRoundings[roundings]);
    return oracle::compare(shape, input.data(), weights.data(), output.data(),
                           Tolerance::of(precision, shape))
        .passed(shape);
  };
  CHECK_FALSE(passes(1, Precision::kFp32));
  CHECK_FALSE(passes(7, Precision::kFp16Products));
  // Errors of numbers that are cut off have one sign, so they add up; ones lose most.
  for (std::vector<float>* values : {&input, &weights}) {
    for (float& value : *values) {
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | 0xffffU);
    }
  }
  CHECK_FALSE(passes(2, Precision::kTf32));
  CHECK_FALSE(passes(5, Precision::kBf16));
}

TEST_CASE("comparison: one wrong tap of whole numbers is outside of every class") {
  for (const ConvShape& shape : network_shapes()) {
    const auto input = oracle::random_integers(shape.input_size(), 4, 41);
    const auto weights = oracle::random_integers(shape.weights_size(), 4, 42);
    for (const Roundings& each : kRoundings) {
      CAPTURE(to_string(shape), to_string(each.precision));
      const auto passes = [&](int left_out) {
        const auto output = rounded_output(shape, input, weights, each, left_out);
        return oracle::compare(shape, input.data(), weights.data(), output.data(),
                               Tolerance::exact())
            .passed(shape);
      };
      CHECK(passes(-1));
      CHECK_FALSE(passes(0));
      CHECK_FALSE(passes(shape.taps() / 2));
      CHECK_FALSE(passes(shape.taps() - 1));
    }
  }
}

TEST_CASE("comparison: a half keeps fewer digits of small numbers") {
  const ConvShape shape{.height = 1, .width = 8};
  const std::vector<float> input(8, 0x1.8p-24f);  // half of the step below 2^-14, above it
  const std::vector<float> weights = {1.0f};
  const std::vector<float> output(8, 0x1p-23f);
  const auto report = [&](Precision precision) {
    return oracle::compare(shape, input.data(), weights.data(), output.data(),
                           Tolerance::of(precision, shape));
  };
  CHECK(report(Precision::kFp16).passed(shape));
  CHECK_FALSE(report(Precision::kTf32).passed(shape));
  const std::vector<float> zero(8, 0.0f);  // a zero is exact in every format
  CHECK_FALSE(oracle::compare(shape, zero.data(), weights.data(), output.data(),
                              Tolerance::of(Precision::kFp16, shape))
                  .passed(shape));
}

TEST_CASE("comparison: results too small for single precision are no errors") {
  Problem problem(kShape);
  for (float& value : problem.input) value *= 1e-39f;
  problem.output.assign(problem.output.size(), 0.0f);  // a processor that flushes to zero
  const auto report = problem.compare();
  CHECK(report.passed(kShape));
  CHECK(report.worst_ratio <= 32.0);
}
