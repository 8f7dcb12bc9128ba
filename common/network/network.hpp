#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/network/preset.hpp"
#include "common/network/weights.hpp"

namespace convlab {

/// Runs one convolution of the network; conv_index counts from 0.
using ConvRunner = std::function<void(int conv_index, const ConvShape& shape, const float* input,
                                      const float* weights, float* output)>;

/// A preset with its weights. Computes everything but the convolutions, on all threads.
class Network {
 public:
  /// @param weights  fit the preset
  Network(Preset preset, Weights weights)
      : preset_(std::move(preset)), weights_(std::move(weights)) {}

  [[nodiscard]] const Preset& preset() const { return preset_; }
  [[nodiscard]] const Weights& weights() const { return weights_; }

  /// @param images  batch × image_size × image_size
  /// @return logits, batch × classes
  [[nodiscard]] std::vector<float> forward(std::span<const float> images, int batch,
                                           const ConvRunner& run_convolution) const;

 private:
  Preset preset_;
  Weights weights_;
};

/// load_preset plus its weight file weights/NAME.clw.
Network load_network(const std::string& name);

/// Any layer but a convolution, on all threads.
/// @param weights  those of a dense layer and, in `bias`, its bias; else nothing
/// @param output   may be `input` for an activation
void run_layer(const Layer& layer, const FeatureShape& in, const float* weights, const float* bias,
               const float* input, float* output, int images);

/// Index of the largest logit of each image. The first one wins a tie; a NaN never wins.
std::vector<int> argmax(const std::vector<float>& logits, int classes);

}  // namespace convlab
