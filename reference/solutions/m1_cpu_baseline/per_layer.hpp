#pragma once

#include "common/stage/cpu_stage.hpp"
#include "common/tensor/conv_shape.hpp"

namespace convlab {

/// A convolution with its estimated cost, in cycles for a vector of outputs.
struct LayerChoice {
  double cost;
  ConvForward convolve;
};

/// The cheapest of vectorized, map-lanes and im2col-gemm for this shape.
LayerChoice choose_for_layer(const ConvShape& shape);

/// Forward convolution by choose_for_layer; every kernel and stride. Arrays as in ConvShape.
void convolve_per_layer(const ConvShape& shape, const float* input, const float* weights,
                        float* output);

/// What vectors of output maps cost if `products` of the multiply-adds are needed; 1 for all.
double map_lanes_cost(const ConvShape& shape, double products);

}  // namespace convlab
