#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/network/network.hpp"

using namespace convlab;

namespace {

std::vector<float> random_floats(std::int64_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-1.0f, 1.0f);
  std::vector<float> values(static_cast<std::size_t>(size));
  for (float& value : values) value = distribution(generator);
  return values;
}

// Stands for a convolution: what an image gives depends on nothing but the image and the weights.
void each_by_itself(int, const ConvShape& s, const float* x, const float* w, float* y) {
  for (std::int64_t i = 0; i < s.output_size(); ++i) {
    const std::int64_t image = i / s.output_image_size();
    const std::int64_t own = i % s.output_image_size();
    y[i] = x[image * s.input_image_size() + own % s.input_image_size()] * w[own % s.weights_size()];
  }
}

Weights random_weights(const Preset& preset) {
  Weights weights = empty_weights(preset);
  unsigned seed = 1;
  for (Parameter& parameter : weights.parameters) {
    std::int64_t size = 1;
    for (int dim : parameter.dims) size *= dim;
    parameter.values = random_floats(size, seed++);
    for (float& value : parameter.values) value *= 0.2f;
  }
  return weights;
}

}  // namespace

TEST_CASE("network: an image's logits do not depend on its batch") {
  const Preset preset = load_preset("sp19");
  const Network network(preset, random_weights(preset));
  const auto pixels = static_cast<std::size_t>(preset.image_size * preset.image_size);
  const std::vector<float> images = random_floats(67 * pixels, 5);
  const std::vector<float> together = network.forward(images, 67, each_by_itself);
  const std::vector<float> alone(images.begin() + static_cast<std::ptrdiff_t>(64 * pixels),
                                 images.begin() + static_cast<std::ptrdiff_t>(65 * pixels));
  const std::vector<float> single = network.forward(alone, 1, each_by_itself);
  CHECK_THROWS_AS(network.forward(alone, 2, each_by_itself), ShapeError);
  for (std::size_t c = 0; c < 10; ++c) {
    CHECK(single[c] == Approx(together[640 + c]).epsilon(1e-4).margin(1e-5));
  }
}

TEST_CASE("network: dense layers of any size") {
  for (const auto& [images, units, inputs] :
       {std::array{1, 1, 1}, {3, 5, 15}, {8, 32, 17}, {3, 10, 1023}, {1, 32, 1024}, {8, 5, 2500}}) {
    const std::vector<float> x = random_floats(images * inputs, 1);
    const std::vector<float> w = random_floats(units * inputs, 2);
    const std::vector<float> bias = random_floats(units, 3);
    std::vector<float> y(static_cast<std::size_t>(images * units), NAN);
    run_layer(DenseLayer{units}, {1, 1, inputs}, w.data(), bias.data(), x.data(), y.data(), images);
    for (int i = 0; i < images * units; ++i) {
      const auto row = x.begin() + std::ptrdiff_t{i / units} * inputs;
      const auto weights = w.begin() + std::ptrdiff_t{i % units} * inputs;
      const double sum = std::inner_product(row, row + inputs, weights,
                                            double{bias[static_cast<std::size_t>(i % units)]});
      CHECK(y[static_cast<std::size_t>(i)] == Approx(sum).margin(1e-3));
    }
  }
}

TEST_CASE("network: activations let a NaN of the convolution be seen") {
  const auto run = [](ActivationFunction function) {
    std::vector<float> values = {NAN, -1.0f, 2.0f};
    run_layer(ActivationLayer{function}, {1, 1, 3}, nullptr, nullptr, values.data(), values.data(),
              1);
    CHECK(std::isnan(values[0]));
    return std::vector<float>{values[1], values[2]};
  };
  CHECK(run(ActivationFunction::kRelu) == std::vector<float>{0.0f, 2.0f});
  CHECK(run(ActivationFunction::kTanh) == std::vector<float>{std::tanh(-1.0f), std::tanh(2.0f)});
}

TEST_CASE("network: argmax takes the first of equals and no NaN") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(argmax({1, 3, 3, 0, 0, 0, nan, 1, 2}, 3) == std::vector<int>{1, 0, 2});
}
