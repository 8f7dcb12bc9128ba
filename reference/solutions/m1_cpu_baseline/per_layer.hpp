#pragma once

#include "common/base/conv_shape.hpp"
#include "common/stage/cpu_stage.hpp"

namespace convlab {

/// A convolution with its estimated cost, in cycles for a vector of outputs.
struct LayerChoice {
  double cost;
  ConvForward convolve;
};

/// The cheapest of vectorized, map-lanes and im2col-gemm for this shape.
LayerChoice choose_for_layer(const ConvShape& shape);

/// Forward convolution by choose_for_layer; any kernel and stride. Arrays as in ConvShape.
void convolve_per_layer(const ConvShape& shape, const float* input, const float* weights,
                        float* output);

/// The cost of map-lanes if only this share of the multiply-adds is needed; 1 for all.
double map_lanes_cost(const ConvShape& shape, double products);

}  // namespace convlab
