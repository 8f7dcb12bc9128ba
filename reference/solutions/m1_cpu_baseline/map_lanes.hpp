#pragma once

#include "common/base/conv_shape.hpp"

namespace convlab {

/// Forward convolution with the lanes of a vector along the output maps; any kernel and stride.
/// Arrays as in ConvShape.
void convolve_map_lanes(const ConvShape& shape, const float* input, const float* weights,
                        float* output);

/// Whether a tile computes the maps of one vector and uses each pixel for a whole kernel row.
bool map_lanes_go_by_rows(const ConvShape& shape);

}  // namespace convlab
