#pragma once

#include "common/base/conv_shape.hpp"

namespace convlab {

/// Forward convolution with the lanes of a vector along the pixels of an output row; any kernel and
/// stride. Arrays as in ConvShape.
void convolve_pixel_lanes(const ConvShape& shape, const float* input, const float* weights,
                          float* output);

}  // namespace convlab
