#pragma once

#include "common/base/conv_shape.hpp"
#include "common/base/precision.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

/// A time in milliseconds that no honest convolution of this shape can beat on this machine. On a
/// GPU it follows from the limits that its properties promise, see physical_floor; on a CPU from
/// more operations per second than any processor does. 0 if nothing is known.
double impossible_ms(const SubmissionDevice& device, const ConvShape& shape, Precision precision);

}  // namespace convlab::grader
