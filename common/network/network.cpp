#include "common/network/network.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/buffer.hpp"
#include "common/base/error.hpp"
#include "common/base/isa.hpp"
#include "common/network/layer_kernels.hpp"

namespace convlab {

namespace {

// The number of images that one thread takes through a dense layer together. Their slice of the
// inputs and the slice of the weights fit into the second-level cache.
constexpr int kDenseChunk = 64;

void activate(ActivationFunction function, float* values, std::int64_t size) {
  if (function == ActivationFunction::kRelu) {
    CONVLAB_ISA_SELECT(relu)(values, size);
  } else {
    CONVLAB_ISA_SELECT(tanh)(values, size);
  }
}

void pool_image(const PoolLayer& pool, const FeatureShape& in, const FeatureShape& out,
                const float* input, std::vector<float>& row, float* output) {
  row.resize(static_cast<std::size_t>(in.width));
  const auto kernel = pool.function == PoolFunction::kMax ? CONVLAB_ISA_SELECT(max_pool)
                                                          : CONVLAB_ISA_SELECT(average_pool);
  for (int channel = 0; channel < in.channels; ++channel) {
    kernel(input + std::int64_t{channel} * in.height * in.width, in.height, in.width, pool.size,
           pool.stride, row.data(), output + std::int64_t{channel} * out.height * out.width,
           out.height, out.width);
  }
}

// One run of the layers, in the order in which they are computed.
class Pass {
 public:
  Pass(const std::vector<Layer>& layers, const std::vector<FeatureShape>& shapes,
       const Weights& weights, int batch, const ConvRunner& run_convolution)
      : layers_(layers),
        shapes_(shapes),
        weights_(weights),
        batch_(batch),
        run_convolution_(run_convolution) {}

  std::vector<float> run(std::span<const float> images) {
    Buffer features;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const float* input = i == 0 ? images.data() : features.data();
      if (std::holds_alternative<ConvLayer>(layers_[i])) {
        features = convolve(i, input);
      } else if (std::holds_alternative<DenseLayer>(layers_[i])) {
        features = dense(i, input);
      } else if (const auto* pool = std::get_if<PoolLayer>(&layers_[i])) {
        features = pooled(*pool, i, input);
      } else {
        if (i == 0) features = copy_of(images);
        activate_all(std::get<ActivationLayer>(layers_[i]).function, features);
      }
    }
    return {features.begin(), features.end()};
  }

 private:
  [[nodiscard]] Buffer output_of(std::size_t layer, float fill = 0.0f) const {
    return Buffer(batch_ * shapes_[layer + 1].size(), fill);
  }

  static Buffer copy_of(std::span<const float> images) {
    Buffer copy(static_cast<std::int64_t>(images.size()));
    std::copy(images.begin(), images.end(), copy.begin());
    return copy;
  }

  Buffer convolve(std::size_t layer, const float* input) {
    const auto& conv = std::get<ConvLayer>(layers_[layer]);
    const ConvShape shape{.batch = batch_,
                          .out_channels = conv.out_channels,
                          .in_channels = shapes_[layer].channels,
                          .height = shapes_[layer].height,
                          .width = shapes_[layer].width,
                          .kernel = conv.kernel,
                          .stride = conv.stride};
    const Parameter& parameter = weights_.at("conv" + std::to_string(convs_ + 1) + ".weights");
    // An element that the convolution forgets to write must not look like a result.
    Buffer output = output_of(layer, std::numeric_limits<float>::quiet_NaN());
    run_convolution_(convs_++, shape, input, parameter.values.data(), output.data());
    return output;
  }

  [[nodiscard]] Buffer pooled(const PoolLayer& pool, std::size_t layer, const float* input) const {
    const FeatureShape in = shapes_[layer];
    const FeatureShape out = shapes_[layer + 1];
    Buffer output = output_of(layer);
#pragma omp parallel
    {
      std::vector<float> row;
#pragma omp for schedule(static)
      for (int image = 0; image < batch_; ++image) {
        pool_image(pool, in, out, input + image * in.size(), row,
                   output.data() + image * out.size());
      }
    }
    return output;
  }

  void activate_all(ActivationFunction function, Buffer& values) const {
    const std::int64_t image_size = values.size() / batch_;
#pragma omp parallel for schedule(static)
    for (int image = 0; image < batch_; ++image) {
      activate(function, values.data() + image * image_size, image_size);
    }
  }

  Buffer dense(std::size_t layer, const float* input) {
    const std::string name = "dense" + std::to_string(++denses_);
    const std::vector<float>& matrix = weights_.at(name + ".weights").values;
    const std::vector<float>& bias = weights_.at(name + ".bias").values;
    const int units = static_cast<int>(bias.size());
    const int input_size = static_cast<int>(shapes_[layer].size());
    Buffer output = output_of(layer);
    const auto kernel = CONVLAB_ISA_SELECT(dense);
#pragma omp parallel for schedule(dynamic)
    for (int begin = 0; begin < batch_; begin += kDenseChunk) {
      kernel(input + std::int64_t{begin} * input_size, matrix.data(), bias.data(),
             output.data() + std::int64_t{begin} * units, std::min(kDenseChunk, batch_ - begin),
             units, input_size);
    }
    return output;
  }

  const std::vector<Layer>& layers_;
  const std::vector<FeatureShape>& shapes_;
  const Weights& weights_;
  int batch_;
  const ConvRunner& run_convolution_;
  int convs_ = 0;
  int denses_ = 0;
};

}  // namespace

std::vector<Layer> with_activations_after_max_pools(std::vector<Layer> layers) {
  for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
    const auto* pool = std::get_if<PoolLayer>(&layers[i + 1]);
    if (std::holds_alternative<ActivationLayer>(layers[i]) && pool &&
        pool->function == PoolFunction::kMax) {
      std::swap(layers[i], layers[i + 1]);
    }
  }
  return layers;
}

Network::Network(Preset preset, Weights weights)
    : preset_(std::move(preset)), weights_(std::move(weights)) {
  check_weights(preset_, weights_);
}

std::vector<float> Network::forward(std::span<const float> images, int batch,
                                    const ConvRunner& run_convolution) const {
  const auto wanted = std::int64_t{batch} * preset_.image_size * preset_.image_size;
  if (batch < 1 || static_cast<std::int64_t>(images.size()) != wanted) {
    throw ShapeError("Network " + preset_.name + " at batch " + std::to_string(batch) + " takes " +
                     std::to_string(wanted) + " pixels, not " + std::to_string(images.size()) +
                     ".");
  }
  Preset computed = preset_;
  computed.layers = with_activations_after_max_pools(preset_.layers);
  return Pass(computed.layers, computed.feature_shapes(), weights_, batch, run_convolution)
      .run(images);
}

Network load_network(const std::string& name) {
  const Preset preset = load_preset(name);
  return {preset, read_weights(network_folder() / "weights" / (preset.name + ".clw"))};
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
