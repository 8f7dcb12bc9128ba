#pragma once

#include <string>

#include "common/base/conv_shape.hpp"
#include "common/stage/stage.hpp"

namespace convlab {

/// A convolution on the CPU is one function; it writes every element of `output`.
using ConvForward = void (*)(const ConvShape& shape, const float* input, const float* weights,
                             float* output);

/// Registers a function as a stage: prolog and epilog do nothing.
///
///     static const convlab::CpuStage stage({.id = "baseline", .title = "Seven loops"},
///                                          conv_forward);
struct CpuStage {
  CpuStage(Stage stage, ConvForward conv_forward);
};

}  // namespace convlab
