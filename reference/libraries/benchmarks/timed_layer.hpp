#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/buffer.hpp"
#include "common/base/conv_shape.hpp"

namespace convlab {

/// One convolution with its arrays: random input and weights, and an output that all contenders
/// share, one after another.
struct TimedLayer {
  TimedLayer(std::string layer_name, const ConvShape& layer_shape);

  std::string name;
  ConvShape shape;
  Buffer input;
  Buffer weights;
  Buffer output;
};

/// The convolutions of a network preset, called "op1", "op2".
std::vector<std::unique_ptr<TimedLayer>> timed_layers(const std::string& preset, int batch);

}  // namespace convlab
