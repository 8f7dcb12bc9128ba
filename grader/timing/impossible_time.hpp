#pragma once

#include "common/tensor/conv_shape.hpp"
#include "common/tensor/precision.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// The time below which no convolution of this shape is honest on this machine, in milliseconds. On
/// a GPU from the limits that its properties promise, see physical_floor; on a CPU from more
/// operations in a second than any processor makes. 0 where nothing is known.
double impossible_ms(const SubmissionDevice& device, const ConvShape& shape, Precision precision);

}  // namespace convlab::grader
