#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

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

}  // namespace

TEST_CASE("network: dense layers of any size") {
  for (const auto& [images, units, inputs] :
       {std::array{1, 1, 1}, {8, 32, 17}, {3, 10, 1023}, {8, 5, 2500}}) {
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
  for (const auto& [function, of_minus_one] : {std::pair{ActivationFunction::kRelu, 0.0f},
                                               {ActivationFunction::kTanh, std::tanh(-1.0f)}}) {
    std::vector<float> values = {NAN, -1.0f};
    run_layer(ActivationLayer{function}, {1, 1, 2}, nullptr, nullptr, values.data(), values.data(),
              1);
    CHECK(std::isnan(values[0]));
    CHECK(values[1] == of_minus_one);
  }
}

TEST_CASE("network: argmax takes the first of equals and no NaN") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(argmax({1, 3, 3, 0, 0, 0, nan, 1, 2}, 3) == std::vector<int>{1, 0, 2});
}
