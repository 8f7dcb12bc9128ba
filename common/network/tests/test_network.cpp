#include <cmath>
#include <limits>
#include <random>

#include "common/base/error.hpp"
#include "common/base/isa.hpp"
#include "common/base/testing/catch.hpp"
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

std::vector<float> random_values(std::size_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-1.0f, 1.0f);
  std::vector<float> values(size);
  for (float& value : values) value = distribution(generator);
  return values;
}

void naive_convolution(int, const ConvShape& s, const float* x, const float* w, float* y) {
  for (int b = 0; b < s.batch; ++b)
    for (int m = 0; m < s.out_channels; ++m)
      for (int h = 0; h < s.out_height(); ++h)
        for (int v = 0; v < s.out_width(); ++v) {
          float sum = 0;
          for (int c = 0; c < s.in_channels; ++c)
            for (int p = 0; p < s.kernel; ++p)
              for (int q = 0; q < s.kernel; ++q)
                sum += x[((b * s.in_channels + c) * s.height + h * s.stride + p) * s.width +
                         v * s.stride + q] *
                       w[((m * s.in_channels + c) * s.kernel + p) * s.kernel + q];
          y[((b * s.out_channels + m) * s.out_height() + h) * s.out_width() + v] = sum;
        }
}

Weights random_weights(const Preset& preset) {
  Weights weights = empty_weights(preset);
  unsigned seed = 1;
  for (Parameter& parameter : weights.parameters) {
    std::size_t size = 1;
    for (int dim : parameter.dims) size *= static_cast<std::size_t>(dim);
    parameter.values = random_values(size, seed++);
    for (float& value : parameter.values) value *= 0.2f;
  }
  return weights;
}

// The network by the book: one image, double precision, layers in the order of the preset.
std::vector<double> logits_by_the_book(const Network& network, const float* image) {
  const Preset& preset = network.preset();
  const auto shapes = preset.feature_shapes();
  std::vector<double> x(image, image + shapes[0].size());
  int convs = 0;
  int denses = 0;
  for (std::size_t l = 0; l < preset.layers.size(); ++l) {
    const FeatureShape in = shapes[l];
    const FeatureShape out = shapes[l + 1];
    std::vector<double> y(static_cast<std::size_t>(out.size()));
    if (const auto* conv = std::get_if<ConvLayer>(&preset.layers[l])) {
      const auto& w = network.weights().at("conv" + std::to_string(++convs) + ".weights").values;
      const int k = conv->kernel;
      std::size_t o = 0;
      for (int m = 0; m < out.channels; ++m)
        for (int h = 0; h < out.height; ++h)
          for (int v = 0; v < out.width; ++v, ++o)
            for (int c = 0; c < in.channels; ++c)
              for (int p = 0; p < k; ++p)
                for (int q = 0; q < k; ++q)
                  y[o] += x[static_cast<std::size_t>((c * in.height + h + p) * in.width + v + q)] *
                          w[static_cast<std::size_t>(((m * in.channels + c) * k + p) * k + q)];
    } else if (const auto* act = std::get_if<ActivationLayer>(&preset.layers[l])) {
      for (std::size_t i = 0; i < y.size(); ++i)
        y[i] = act->function == ActivationFunction::kTanh ? std::tanh(x[i]) : std::max(x[i], 0.0);
    } else if (const auto* pool = std::get_if<PoolLayer>(&preset.layers[l])) {
      std::size_t o = 0;
      for (int c = 0; c < out.channels; ++c)
        for (int h = 0; h < out.height; ++h)
          for (int v = 0; v < out.width; ++v, ++o) {
            double largest = -1e300;
            double sum = 0;
            int count = 0;
            for (int p = h * pool->stride; p < std::min(in.height, h * pool->stride + pool->size);
                 ++p)
              for (int q = v * pool->stride; q < std::min(in.width, v * pool->stride + pool->size);
                   ++q, ++count) {
                const double value =
                    x[static_cast<std::size_t>((c * in.height + p) * in.width + q)];
                largest = std::max(largest, value);
                sum += value;
              }
            y[o] = pool->function == PoolFunction::kMax ? largest : sum / count;
          }
    } else {
      const std::string name = "dense" + std::to_string(++denses);
      const auto& w = network.weights().at(name + ".weights").values;
      const auto& bias = network.weights().at(name + ".bias").values;
      for (std::size_t u = 0; u < y.size(); ++u) {
        y[u] = bias[u];
        for (std::size_t i = 0; i < x.size(); ++i) y[u] += x[i] * w[u * x.size() + i];
      }
    }
    x = std::move(y);
  }
  return x;
}

}  // namespace

TEST_CASE("network: every preset computes what the book says") {
  for (const std::string& name : preset_names()) {
    const Preset preset = load_preset(name);
    const Network network(preset, random_weights(preset));
    const int batch = 3;
    const auto pixels = static_cast<std::size_t>(preset.image_size * preset.image_size);
    const std::vector<float> images = random_values(batch * pixels, 77);
    const std::vector<float> logits = network.forward(images, batch, naive_convolution);
    REQUIRE(logits.size() == 30);
    for (std::size_t b = 0; b < batch; ++b) {
      const std::vector<double> expected = logits_by_the_book(network, &images[b * pixels]);
      for (std::size_t c = 0; c < 10; ++c) {
        INFO(name << " image " << b << " class " << c);
        CHECK(logits[b * 10 + c] == Approx(expected[c]).margin(1e-3).epsilon(1e-4));
      }
    }
  }
}

TEST_CASE("network: an image's logits do not depend on its batch") {
  const Preset preset = load_preset("sp19");
  const Network network(preset, random_weights(preset));
  const auto pixels = static_cast<std::size_t>(preset.image_size * preset.image_size);
  const std::vector<float> images = random_values(67 * pixels, 5);
  const std::vector<float> together = network.forward(images, 67, naive_convolution);
  const std::vector<float> alone(images.begin() + static_cast<std::ptrdiff_t>(64 * pixels),
                                 images.begin() + static_cast<std::ptrdiff_t>(65 * pixels));
  const std::vector<float> single = network.forward(alone, 1, naive_convolution);
  for (std::size_t c = 0; c < 10; ++c) {
    CHECK(single[c] == Approx(together[640 + c]).epsilon(1e-4).margin(1e-5));
  }
}

TEST_CASE("network: the number of pixels must fit the batch") {
  const Preset preset = load_preset("fa23");
  const Network network(preset, random_weights(preset));
  CHECK_THROWS_AS(network.forward(std::vector<float>(86 * 86), 2, naive_convolution), ShapeError);
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
          const std::vector<float> x = random_values(size(images, inputs), 1);
          const std::vector<float> w = random_values(size(units, inputs), 2);
          const std::vector<float> bias = random_values(size(units, 1), 3);
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
