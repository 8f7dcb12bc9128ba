#include <cmath>
#include <limits>
#include <random>

#include "common/base/error.hpp"
#include "common/base/isa.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/network/layer_kernels.hpp"
#include "common/network/network.hpp"

using namespace convlab;

namespace {

struct Kernels {
  const char* isa;
  decltype(&baseline::relu) relu;
  decltype(&baseline::tanh) tanh;
  decltype(&baseline::max_pool) max_pool;
  decltype(&baseline::average_pool) average_pool;
  decltype(&baseline::dense) dense;
};

// Every copy of the kernels that this processor can run.
std::vector<Kernels> all_kernels() {
  std::vector<Kernels> all = {{"baseline", baseline::relu, baseline::tanh, baseline::max_pool,
                               baseline::average_pool, baseline::dense}};
#if defined(__x86_64__)
  if (best_isa() >= Isa::kAvx2) {
    all.push_back(
        {"avx2", avx2::relu, avx2::tanh, avx2::max_pool, avx2::average_pool, avx2::dense});
  }
  if (best_isa() >= Isa::kAvx512) {
    all.push_back({"avx512", avx512::relu, avx512::tanh, avx512::max_pool, avx512::average_pool,
                   avx512::dense});
  }
#endif
  return all;
}

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
  for (std::size_t c = 0; c < 10; ++c) {
    CHECK(single[c] == Approx(together[640 + c]).epsilon(1e-4).margin(1e-5));
  }
}

TEST_CASE("network: the number of pixels must fit the batch") {
  const Preset preset = load_preset("fa23");
  const Network network(preset, random_weights(preset));
  CHECK_THROWS_AS(network.forward(std::vector<float>(86 * 86), 2, each_by_itself), ShapeError);
}

TEST_CASE("network: tanh is exact to a few units in the last place on every instruction set") {
  std::vector<float> points;
  for (float x = 1e-30f; x < 1e30f; x *= 1.0007f) {
    points.push_back(x);
    points.push_back(-x);
  }
  for (float x : {0.0f, 0.5f, 0.49999997f, 9.5f, std::numeric_limits<float>::infinity()}) {
    points.push_back(x);
  }
  for (const Kernels& kernels : all_kernels()) {
    std::vector<float> values = points;
    kernels.tanh(values.data(), static_cast<std::int64_t>(values.size()));
    double worst = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double expected = std::tanh(static_cast<double>(points[i]));
      const double ulp = std::ldexp(1.0, std::max(std::ilogb(expected), -126) - 23);
      worst = std::max(worst, std::fabs(values[i] - expected) / ulp);
    }
    INFO(kernels.isa << ": worst error " << worst << " ulp");
    CHECK(worst < 4);
    float nan = std::numeric_limits<float>::quiet_NaN();
    kernels.tanh(&nan, 1);
    CHECK(std::isnan(nan));
  }
}

TEST_CASE("network: dense layers of any size on every instruction set") {
  for (const Kernels& kernels : all_kernels()) {
    for (int images : {1, 3, 8}) {
      for (int units : {1, 5, 10, 32}) {
        for (int inputs : {1, 15, 17, 1023, 1024, 2500}) {
          const auto size = [](int a, int b) { return static_cast<std::size_t>(a * b); };
          const std::vector<float> x = random_floats(size(images, inputs), 1);
          const std::vector<float> w = random_floats(size(units, inputs), 2);
          const std::vector<float> bias = random_floats(size(units, 1), 3);
          std::vector<float> y(size(images, units), std::numeric_limits<float>::quiet_NaN());
          kernels.dense(x.data(), w.data(), bias.data(), y.data(), images, units, inputs);
          bool right = true;
          for (int i = 0; i < images; ++i) {
            for (int u = 0; u < units; ++u) {
              double sum = bias[static_cast<std::size_t>(u)];
              for (int k = 0; k < inputs; ++k) {
                sum += double{x[size(i, inputs) + static_cast<std::size_t>(k)]} *
                       w[size(u, inputs) + static_cast<std::size_t>(k)];
              }
              right =
                  right && std::fabs(y[size(i, units) + static_cast<std::size_t>(u)] - sum) < 1e-3;
            }
          }
          INFO(kernels.isa << " images " << images << " units " << units << " inputs " << inputs);
          CHECK(right);
        }
      }
    }
  }
}

TEST_CASE("network: a NaN of the convolution stays visible behind ReLU") {
  for (const Kernels& kernels : all_kernels()) {
    float values[3] = {std::numeric_limits<float>::quiet_NaN(), -1.0f, 2.0f};
    kernels.relu(values, 3);
    CHECK(std::isnan(values[0]));
    CHECK(values[1] == 0.0f);
    CHECK(values[2] == 2.0f);
  }
}

TEST_CASE("network: argmax takes the first of equals and no NaN") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(argmax({1, 3, 3, 0, 0, 0, nan, 1, 2}, 3) == std::vector<int>{1, 0, 2});
}
