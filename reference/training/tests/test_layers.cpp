// Every layer's gradients against finite differences.
//
// For random c the scalar L = Σ c·output has the gradient c by the output. The layer's backward
// must then give dL/dx, which (L(x + h) − L(x − h)) / 2h approaches; L is summed in double.

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "common/data/random.hpp"
#include "reference/training/model.hpp"

using namespace convlab;
using training::Tensor;
using training::TrainableLayer;

namespace {

std::vector<float> random_values(std::int64_t size, Random& random) {
  std::vector<float> values(static_cast<std::size_t>(size));
  for (float& value : values) value = 2 * random.uniform() - 1;
  return values;
}

// Values in random order, none closer to another, or to 0, than 0.02: far enough from every kink.
std::vector<float> separated_values(std::int64_t size, Random& random) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < size; ++i) {
    values.push_back(0.02F * static_cast<float>(i - size / 2) + 0.01F);
  }
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
  }
  return values;
}

struct Check {
  Layer layer;
  FeatureShape in;
  float step = 0.005F;
  double tolerance = 1e-3;
};

void check_gradients(const Check& check) {
  constexpr int kImages = 3;
  Random random(11);
  TrainableLayer layer(check.layer, check.in);
  const FeatureShape out = output_shape(check.layer, check.in);
  for (Tensor& tensor : layer.tensors()) {
    tensor.values = random_values(static_cast<std::int64_t>(tensor.values.size()), random);
  }
  std::vector<float> input = separated_values(kImages * check.in.size(), random);
  std::vector<float> output(static_cast<std::size_t>(kImages * out.size()));
  const std::vector<float> c = random_values(kImages * out.size(), random);

  const auto loss = [&] {
    layer.forward(input.data(), output.data(), kImages);
    double sum = 0;
    for (std::size_t i = 0; i < c.size(); ++i) sum += double{c[i]} * double{output[i]};
    return sum;
  };
  const auto largest_error = [&](std::vector<float>& values, const std::vector<float>& gradient) {
    REQUIRE(gradient.size() == values.size());
    double largest = 0;
    // All of a small tensor, a sample of a larger one.
    const std::size_t stride = std::max<std::size_t>(1, values.size() / 97);
    for (std::size_t i = 0; i < values.size(); i += stride) {
      const float value = values[i];
      values[i] = value + check.step;
      const double above = loss();
      const float high = values[i];
      values[i] = value - check.step;
      const double slope = (above - loss()) / (double{high} - double{values[i]});
      values[i] = value;
      largest = std::max(largest, std::abs(slope - double{gradient[i]}));
    }
    return largest;
  };

  loss();
  std::vector<float> d_input(input.size(), 99.0F);
  layer.backward(input.data(), output.data(), c.data(), d_input.data(), kImages);
  CHECK(largest_error(input, d_input) < check.tolerance);
  for (Tensor& tensor : layer.tensors()) {
    const std::vector<float> gradient = tensor.gradient;
    CHECK(largest_error(tensor.values, gradient) < check.tolerance);
  }
}

}  // namespace

TEST_CASE("layers: gradients of convolutions") {
  // A linear layer has no error of the second order: the step may be large.
  check_gradients({ConvLayer{.out_channels = 1, .kernel = 1}, {1, 3, 4}, 0.5F});
  check_gradients({ConvLayer{.out_channels = 5, .kernel = 3}, {2, 7, 9}, 0.5F});
  check_gradients({ConvLayer{.out_channels = 3, .kernel = 7}, {4, 10, 8}, 0.5F});
  check_gradients({ConvLayer{.out_channels = 9, .kernel = 4}, {1, 4, 4}, 0.5F});
  check_gradients({ConvLayer{.out_channels = 3, .kernel = 5}, {2, 9, 6}, 0.5F});
  check_gradients({ConvLayer{.out_channels = 2, .kernel = 11}, {1, 12, 13}, 0.5F});
  check_gradients({ConvLayer{.out_channels = 2, .kernel = 3, .stride = 2}, {3, 8, 11}, 0.5F});
}

TEST_CASE("layers: gradients of dense layers") {
  check_gradients({DenseLayer{.units = 1}, {1, 1, 1}, 0.5F});
  check_gradients({DenseLayer{.units = 10}, {3, 5, 7}, 0.5F});
  check_gradients({DenseLayer{.units = 7}, {10, 10, 13}, 0.5F});  // more than one slice of columns
}

TEST_CASE("layers: gradients of activations") {
  check_gradients({ActivationLayer{ActivationFunction::kRelu}, {2, 3, 5}});
  check_gradients({ActivationLayer{ActivationFunction::kTanh}, {2, 3, 5}});
}

TEST_CASE("layers: gradients of pooling, overlapping and over the border") {
  for (PoolFunction function : {PoolFunction::kMax, PoolFunction::kAverage}) {
    check_gradients({PoolLayer{function, 2, 2, false}, {3, 6, 8}});
    check_gradients({PoolLayer{function, 2, 2, false}, {2, 5, 7}});
    check_gradients({PoolLayer{function, 4, 4, true}, {2, 10, 9}});
    check_gradients({PoolLayer{function, 3, 2, true}, {2, 8, 7}});
  }
}

TEST_CASE("layers: a maximum that occurs twice passes its gradient to the first") {
  TrainableLayer layer(PoolLayer{PoolFunction::kMax, 2, 2, false}, {1, 2, 2});
  const std::vector<float> input = {1, 3, 3, 3};
  const std::vector<float> output = {3};
  const std::vector<float> d_output = {5};
  std::vector<float> d_input(4);
  layer.backward(input.data(), output.data(), d_output.data(), d_input.data(), 1);
  CHECK(d_input == std::vector<float>{0, 5, 0, 0});
}

TEST_CASE("loss: cross-entropy, its gradient, and no overflow") {
  std::vector<float> logits = {1.0F, -0.5F, 2.0F, 0.25F, 3.0F, -1.0F};
  const std::vector<std::uint8_t> labels = {2, 0};
  std::vector<float> gradient(6);
  std::vector<float> ignored(6);
  const training::Loss loss =
      training::cross_entropy(logits.data(), labels.data(), 2, 3, gradient.data());
  const double first = -std::log(std::exp(2.0) / (std::exp(1.0) + std::exp(-0.5) + std::exp(2.0)));
  const double second =
      -std::log(std::exp(0.25) / (std::exp(0.25) + std::exp(3.0) + std::exp(-1.0)));
  CHECK(loss.sum == Approx(first + second));
  CHECK(loss.correct == 1);
  for (std::size_t i = 0; i < 6; ++i) {
    const float value = logits[i];
    const auto at = [&](float moved) {
      logits[i] = moved;
      return training::cross_entropy(logits.data(), labels.data(), 2, 3, ignored.data()).sum / 2;
    };
    const double slope = (at(value + 0.125F) - at(value - 0.125F)) / 0.25;
    logits[i] = value;
    CHECK(gradient[i] == Approx(slope).margin(2e-3));
  }
  const std::vector<float> large = {1000.0F, -1000.0F};
  const std::vector<std::uint8_t> wrong = {1};
  CHECK(training::cross_entropy(large.data(), wrong.data(), 1, 2, gradient.data()).sum ==
        Approx(2000.0));
  CHECK(gradient[0] == 1.0F);
  CHECK(gradient[1] == -1.0F);
}
