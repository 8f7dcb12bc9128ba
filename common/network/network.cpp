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

}  // namespace

void run_layer(const Layer& layer, const FeatureShape& in, const float* weights, const float* bias,
               const float* input, float* output, int images) {
  const FeatureShape out = output_shape(layer, in);
  if (const auto* dense = std::get_if<DenseLayer>(&layer)) {
    const auto kernel = CONVLAB_ISA_SELECT(dense);
#pragma omp parallel for schedule(dynamic)
    for (int begin = 0; begin < images; begin += kDenseChunk) {
      kernel(input + begin * in.size(), weights, bias, output + begin * out.size(),
             std::min(kDenseChunk, images - begin), dense->units, static_cast<int>(in.size()));
    }
  } else if (const auto* pool = std::get_if<PoolLayer>(&layer)) {
    const auto kernel = pool->function == PoolFunction::kMax ? CONVLAB_ISA_SELECT(max_pool)
                                                             : CONVLAB_ISA_SELECT(average_pool);
#pragma omp parallel
    {
      std::vector<float> row(static_cast<std::size_t>(in.width));
#pragma omp for schedule(static)
      for (int plane = 0; plane < images * in.channels; ++plane) {
        kernel(input + std::int64_t{plane} * in.height * in.width, in.height, in.width, pool->size,
               pool->stride, row.data(), output + std::int64_t{plane} * out.height * out.width,
               out.height, out.width);
      }
    }
  } else {
    const bool relu = std::get<ActivationLayer>(layer).function == ActivationFunction::kRelu;
    const auto kernel = relu ? CONVLAB_ISA_SELECT(relu) : CONVLAB_ISA_SELECT(tanh);
#pragma omp parallel for schedule(static)
    for (int image = 0; image < images; ++image) {
      float* const values = output + image * in.size();
      if (input != output) std::copy_n(input + image * in.size(), in.size(), values);
      kernel(values, in.size());
    }
  }
}

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
  const std::vector<Layer> layers = with_activations_after_max_pools(preset_.layers);
  FeatureShape shape{1, preset_.image_size, preset_.image_size};
  Buffer features(wanted);
  std::copy(images.begin(), images.end(), features.begin());
  auto parameter = weights_.parameters.begin();  // in the order of the layers
  int convs = 0;
  for (const Layer& layer : layers) {
    const FeatureShape out = output_shape(layer, shape);
    if (std::holds_alternative<ActivationLayer>(layer)) {
      run_layer(layer, shape, nullptr, nullptr, features.data(), features.data(), batch);
      continue;
    }
    // An element that the convolution forgets to write must not look like a result.
    Buffer output(batch * out.size(), std::numeric_limits<float>::quiet_NaN());
    if (const auto* conv = std::get_if<ConvLayer>(&layer)) {
      run_convolution(convs++, conv_shape(*conv, shape, batch), features.data(),
                      (parameter++)->values.data(), output.data());
    } else {
      const bool dense = std::holds_alternative<DenseLayer>(layer);
      run_layer(layer, shape, dense ? parameter[0].values.data() : nullptr,
                dense ? parameter[1].values.data() : nullptr, features.data(), output.data(),
                batch);
      if (dense) parameter += 2;
    }
    features = std::move(output);
    shape = out;
  }
  return {features.begin(), features.end()};
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
