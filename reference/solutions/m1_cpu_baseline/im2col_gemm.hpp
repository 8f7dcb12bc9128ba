#pragma once

#include "common/base/conv_shape.hpp"

namespace convlab {

/// Forward convolution as a product of matrices, the input unrolled in slices; any kernel and
/// stride. Arrays as in ConvShape.
void convolve_im2col(const ConvShape& shape, const float* input, const float* weights,
                     float* output);

}  // namespace convlab
