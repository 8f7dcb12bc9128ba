#pragma once

#include "common/base/conv_shape.hpp"

namespace convlab {

/// Forward convolution with fewer multiplications, two rows of output at a time; stride 1, any
/// kernel. Arrays as in ConvShape. The error of an element is bounded by the largest inputs and
/// weights of its window, not by its own Σ|a||b|.
void convolve_row_pairs(const ConvShape& shape, const float* input, const float* weights,
                        float* output);

}  // namespace convlab
