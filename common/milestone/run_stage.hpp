#pragma once

#include "common/milestone/stage.hpp"
#include "common/tensor/conv_shape.hpp"

namespace convlab {

/// Durations of one run of a convolution, in milliseconds.
struct PhaseTimes {
  double op_ms = 0.0;     ///< convolve alone
  double layer_ms = 0.0;  ///< prolog, convolve and epilog
};

/// Runs prolog, convolve and epilog of a new convolution of this stage, once, and times them.
/// The arrays are laid out as ConvShape says. Exceptions of the stage pass through.
PhaseTimes run_stage(const Stage& stage, const ConvShape& shape, const float* input,
                     const float* weights, float* output);

}  // namespace convlab
