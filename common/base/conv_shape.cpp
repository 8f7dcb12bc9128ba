#include "common/base/conv_shape.hpp"

#include <algorithm>

#include "common/base/error.hpp"

namespace convlab {

void validate(const ConvShape& shape) {
  const auto refuse = [&](const std::string& why) {
    throw ShapeError(why + " (" + to_string(shape) + ").");
  };
  const auto& [batch, out_channels, in_channels, height, width, kernel, stride] = shape;
  if (std::min({batch, out_channels, in_channels, height, width, kernel, stride}) < 1) {
    refuse("A convolution needs sizes of at least 1");
  }
  if (kernel > std::min(height, width)) {
    refuse("A kernel of " + std::to_string(kernel) + " does not fit into " +
           std::to_string(height) + "×" + std::to_string(width) + " pixels");
  }
  // In double precision, because the product may leave 64 bits.
  const auto too_many = [](double a, double b, double c, double d) {
    return a * b * c * d > 0x1p40;
  };
  if (too_many(batch, in_channels, height, width) ||
      too_many(batch, out_channels, shape.out_height(), shape.out_width()) ||
      too_many(out_channels, in_channels, kernel, kernel)) {
    refuse("A tensor of more than 2^40 elements is refused");
  }
}

std::string to_string(const ConvShape& shape) {
  return "B=" + std::to_string(shape.batch) + " M=" + std::to_string(shape.out_channels) +
         " C=" + std::to_string(shape.in_channels) + " H=" + std::to_string(shape.height) +
         " W=" + std::to_string(shape.width) + " K=" + std::to_string(shape.kernel) +
         " S=" + std::to_string(shape.stride);
}

}  // namespace convlab
