#include "common/network/network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/base/buffer.hpp"

namespace convlab {

namespace {

// The number of images that one thread takes through a dense layer together. Their slice of the
// inputs and the slice of the weights fit into the second-level cache.
constexpr int kDenseChunk = 64;

// Pools one plane. A last window is cut off at the border.
void pool_plane(const PoolLayer& pool, const FeatureShape& in, const FeatureShape& out,
                const float* input, float* output) {
  for (int y = 0; y < out.height; ++y) {
    const int top = y * pool.stride;
    const int bottom = std::min(top + pool.size, in.height);
    for (int x = 0; x < out.width; ++x) {
      const int left = x * pool.stride;
      const int right = std::min(left + pool.size, in.width);
      float largest = input[top * in.width + left];
      float sum = 0.0F;
      for (int row = top; row < bottom; ++row) {
        for (int column = left; column < right; ++column) {
          const float value = input[row * in.width + column];
          largest = largest < value ? value : largest;
          sum += value;
        }
      }
      *output++ = pool.function == PoolFunction::kMax
                      ? largest
                      : sum / static_cast<float>((bottom - top) * (right - left));
    }
  }
}

/// outputs[i][u] = bias[u] + Σ_k inputs[i][k] · weights[u][k] for i < images, u < units
void dense(const float* inputs, const float* weights, const float* bias, float* outputs, int images,
           int units, std::int64_t input_size) {
  for (std::int64_t image = 0; image < images; ++image) {
    std::copy_n(bias, units, outputs + image * units);
  }
  // A slice of all weights stays in the cache while the images pass by; and short sums err less.
  constexpr std::int64_t kSlice = 256;
  for (std::int64_t begin = 0; begin < input_size; begin += kSlice) {
    const std::int64_t end = std::min(input_size, begin + kSlice);
    for (std::int64_t image = 0; image < images; ++image) {
      const float* const input = inputs + image * input_size;
      for (std::int64_t unit = 0; unit < units; ++unit) {
        const float* const row = weights + unit * input_size;
        float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t k = begin; k < end; ++k) sum += input[k] * row[k];
        outputs[image * units + unit] += sum;
      }
    }
  }
}

}  // namespace

void run_layer(const Layer& layer, const FeatureShape& in, const float* weights, const float* bias,
               const float* input, float* output, int images) {
  const FeatureShape out = output_shape(layer, in);
  if (const auto* fully = std::get_if<DenseLayer>(&layer)) {
#pragma omp parallel for schedule(dynamic)
    for (int begin = 0; begin < images; begin += kDenseChunk) {
      dense(input + begin * in.size(), weights, bias, output + begin * out.size(),
            std::min(kDenseChunk, images - begin), fully->units, in.size());
    }
  } else if (const auto* pool = std::get_if<PoolLayer>(&layer)) {
#pragma omp parallel for schedule(static)
    for (int plane = 0; plane < images * in.channels; ++plane) {
      pool_plane(*pool, in, out, input + std::int64_t{plane} * in.height * in.width,
                 output + std::int64_t{plane} * out.height * out.width);
    }
  } else if (std::get<ActivationLayer>(layer).function == ActivationFunction::kRelu) {
#pragma omp parallel for simd schedule(static)
    for (std::int64_t i = 0; i < images * in.size(); ++i) {
      // NaN passes through, because a wrong convolution must stay visible.
      output[i] = input[i] < 0.0F ? 0.0F : input[i];
    }
  } else {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < images * in.size(); ++i) output[i] = std::tanh(input[i]);
  }
}

std::vector<float> Network::forward(std::span<const float> images, int batch,
                                    const ConvRunner& run_convolution) const {
  FeatureShape shape{1, preset_.image_size, preset_.image_size};
  const float* features = images.data();
  Buffer last;
  auto parameter = weights_.parameters.begin();  // in the order of the layers
  int convs = 0;
  for (const Layer& layer : preset_.layers) {
    const FeatureShape out = output_shape(layer, shape);
    // An element that the convolution forgets to write must not look like a result.
    Buffer output(batch * out.size(), std::numeric_limits<float>::quiet_NaN());
    if (const auto* conv = std::get_if<ConvLayer>(&layer)) {
      run_convolution(convs++, conv_shape(*conv, shape, batch), features,
                      (parameter++)->values.data(), output.data());
    } else {
      const bool dense = std::holds_alternative<DenseLayer>(layer);
      run_layer(layer, shape, dense ? parameter[0].values.data() : nullptr,
                dense ? parameter[1].values.data() : nullptr, features, output.data(), batch);
      if (dense) parameter += 2;
    }
    last = std::move(output);
    features = last.data();
    shape = out;
  }
  return {last.begin(), last.end()};
}

Network load_network(const std::string& name) {
  const Preset preset = load_preset(name);
  return {preset, read_weights(network_folder() / "weights" / (preset.name + ".clw"), preset)};
}

std::vector<int> argmax(const std::vector<float>& logits, int classes) {
  std::vector<int> best(logits.size() / static_cast<std::size_t>(classes));
  for (std::size_t image = 0; image < best.size(); ++image) {
    const float* row = &logits[image * static_cast<std::size_t>(classes)];
    for (int c = 1; c < classes; ++c) {
      const bool current_is_nan = row[best[image]] != row[best[image]];
      if (row[c] > row[best[image]] || (current_is_nan && row[c] == row[c])) best[image] = c;
    }
  }
  return best;
}

}  // namespace convlab
