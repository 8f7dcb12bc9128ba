#pragma once

#include "common/tensor/conv_shape.hpp"

namespace convlab {

/// Forward convolution with the lanes of a vector along the output maps; every kernel and stride.
/// Arrays as in ConvShape.
void convolve_map_lanes(const ConvShape& shape, const float* input, const float* weights,
                        float* output);

/// Whether a tile takes the maps of one vector, and the taps of a kernel row share its pixels.
bool map_lanes_go_by_rows(const ConvShape& shape);

}  // namespace convlab
