#include "common/base/conv_shape.hpp"

#include <array>
#include <utility>

#include "common/base/error.hpp"

namespace convlab {

namespace {

// In double precision, because the product may leave 64 bits.
bool too_many(double a, double b, double c, double d) {
  return a * b * c * d > 0x1p40;
}

}  // namespace

void validate(const ConvShape& shape) {
  const std::array<std::pair<const char*, int>, 7> sizes = {{{"batch", shape.batch},
                                                             {"out_channels", shape.out_channels},
                                                             {"in_channels", shape.in_channels},
                                                             {"height", shape.height},
                                                             {"width", shape.width},
                                                             {"kernel", shape.kernel},
                                                             {"stride", shape.stride}}};
  for (const auto& [name, value] : sizes) {
    if (value < 1) {
      throw ShapeError("A convolution needs " + std::string(name) + " of at least 1, not " +
                       std::to_string(value) + " (" + to_string(shape) + ").");
    }
  }
  if (shape.kernel > shape.height || shape.kernel > shape.width) {
    throw ShapeError("A kernel of " + std::to_string(shape.kernel) + " does not fit into " +
                     std::to_string(shape.height) + "×" + std::to_string(shape.width) +
                     " pixels (" + to_string(shape) + ").");
  }
  if (too_many(shape.batch, shape.in_channels, shape.height, shape.width) ||
      too_many(shape.batch, shape.out_channels, shape.out_height(), shape.out_width()) ||
      too_many(shape.out_channels, shape.in_channels, shape.kernel, shape.kernel)) {
    throw ShapeError("A tensor of more than 2^40 elements is refused (" + to_string(shape) + ").");
  }
}

std::string to_string(const ConvShape& shape) {
  return "B=" + std::to_string(shape.batch) + " M=" + std::to_string(shape.out_channels) +
         " C=" + std::to_string(shape.in_channels) + " H=" + std::to_string(shape.height) +
         " W=" + std::to_string(shape.width) + " K=" + std::to_string(shape.kernel) +
         " S=" + std::to_string(shape.stride);
}

}  // namespace convlab
