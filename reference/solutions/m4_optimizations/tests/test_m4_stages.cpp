// The reference stages of milestone 4, emulated, element by element: every layer of the networks
// that they have kernels for, and shapes for the general kernel.
#include <cmath>
#include <string>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/stage/stage.hpp"
#include "reference/oracle/comparison.hpp"
#include "reference/oracle/tests/fixtures.hpp"

using namespace convlab;

namespace {

// batch, out channels, in channels, height, width, kernel, stride
const std::vector<ConvShape> kShapes = {
    {2, 4, 1, 86, 86, 7, 1},  {3, 16, 4, 40, 40, 7, 1},   // fa23
    {1, 12, 1, 70, 70, 5, 1}, {1, 24, 12, 33, 33, 5, 1},  // fa19
    {1, 12, 1, 72, 72, 7, 1}, {1, 24, 12, 33, 33, 7, 1},  // fa18
    {2, 6, 1, 64, 64, 5, 1},  {2, 16, 6, 30, 30, 5, 1},   // sp18
    {2, 4, 1, 86, 85, 7, 1},  {2, 16, 4, 40, 40, 7, 2},   // almost fa23
    {3, 5, 3, 19, 23, 3, 1},  {1, 1, 1, 1, 1, 1, 1},      // general
};

// Values from 1 down to 10^-9 in one image, one band of columns after the other, as in real
// activations.
std::vector<float> banded_values(const ConvShape& shape) {
  constexpr int kBandColumns = 9;  // more than a window has
  std::vector<float> values = oracle::random_floats(shape.input_size(), 3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto column = i % static_cast<std::size_t>(shape.width);
    values[i] *= std::pow(10.0f, -static_cast<float>(column / kBandColumns % 10));
  }
  return values;
}

// Bright rectangles on black: a window may see nothing but the corner of one. Methods with fewer
// products cannot keep single precision there: a small product is the difference of larger ones.
std::vector<float> rectangles(const ConvShape& shape) {
  constexpr int kEvery = 20;
  constexpr int kBright = 9;  // of kEvery columns, and of kEvery rows
  std::vector<float> values = oracle::random_floats(shape.input_size(), 4, 0.0f);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto column = i % static_cast<std::size_t>(shape.width);
    const auto row = i / static_cast<std::size_t>(shape.width);
    if (column % kEvery >= kBright || row % kEvery >= kBright) values[i] = 0.0f;
  }
  return values;
}

void check(const Stage& stage, const ConvShape& shape, const std::vector<float>& input,
           float smallest) {
  INFO(stage.id << " " << to_string(shape) << " from " << smallest);
  const std::vector<float> weights = oracle::random_floats(shape.weights_size(), 2, smallest);
  std::vector<float> output(static_cast<std::size_t>(shape.output_size()));
  const auto convolution = stage.make();
  convolution->prolog(shape, input.data(), weights.data(), output.data());
  for (int i = 0; i < 2; ++i) convolution->convolve();  // nothing may be left of the first
  convolution->epilog();
  const auto report = oracle::compare(shape, input.data(), weights.data(), output.data(),
                                      oracle::Tolerance::of(stage.precision, shape));
  CHECK(report.passed(shape));
  CHECK(report.worst_ratio <= oracle::error_bound(stage.precision, shape.taps()));
}

}  // namespace

TEST_CASE("m4 stages: every element is right, for signed and for positive data") {
  REQUIRE(registered_stages().size() >= 7);
  for (const Stage& stage : registered_stages()) {
    for (const ConvShape& shape : kShapes) {
      for (const float smallest : {-1.0f, 0.0f}) {
        check(stage, shape, oracle::random_floats(shape.input_size(), 1, smallest), smallest);
      }
    }
  }
}

TEST_CASE("m4 stages: a student's stage must be as exact as the reference's") {
  for (const Stage& stage : registered_stages()) {
    CAPTURE(stage.id);
    CHECK(ladder_stage(stage.id.c_str(), "").precision == stage.precision);
  }
}

TEST_CASE("m4 stages of single precision keep it where inputs are small or black") {
  for (const Stage& stage : registered_stages()) {
    if (stage.precision != Precision::kFp32) continue;
    for (const ConvShape& shape : {kShapes[0], kShapes[1]}) {
      check(stage, shape, banded_values(shape), -1.0f);
      check(stage, shape, rectangles(shape), -1.0f);
    }
  }
}
