#include "reference/libraries/benchmarks/timed_layer.hpp"

#include <random>
#include <utility>

#include "common/network/preset.hpp"

namespace convlab {

namespace {

void fill_random(Buffer& buffer, unsigned seed) {
  std::minstd_rand generator(seed);
  for (float& value : buffer) {
    value = static_cast<float>(generator() & 0xffff) / 65536.0f - 0.5f;
  }
}

}  // namespace

TimedLayer::TimedLayer(std::string layer_name, const ConvShape& layer_shape)
    : name(std::move(layer_name)),
      shape(layer_shape),
      input(layer_shape.input_size()),
      weights(layer_shape.weights_size()),
      output(layer_shape.output_size()) {
  fill_random(input, 1);
  fill_random(weights, 2);
}

std::vector<std::unique_ptr<TimedLayer>> timed_layers(const std::string& preset, int batch) {
  std::vector<std::unique_ptr<TimedLayer>> layers;
  for (const ConvShape& shape : load_preset(preset).conv_shapes(batch)) {
    layers.push_back(std::make_unique<TimedLayer>("op" + std::to_string(layers.size() + 1), shape));
  }
  return layers;
}

}  // namespace convlab
