#pragma once

#include <functional>
#include <span>

#include "common/base/conv_shape.hpp"

namespace convlab::oracle {

/// Unit roundoff of single precision, 2^-24: a correctly rounded operation is off by at most this
/// part of its result.
inline constexpr double kUnitRoundoff = 1.0 / (1 << 24);

/// Receives the exact values of one image: for each output element (out_channels × out_height ×
/// out_width) the value Σ a·b and the magnitude Σ |a|·|b|, both accumulated in double precision.
/// Called from several threads at once, in any order of images.
using ImageVisitor = std::function<void(int image, std::span<const double> values,
                                        std::span<const double> magnitudes)>;

/// Computes the convolution in double precision, one image after the other on each thread, so that
/// 10 000 images need no more memory than a few.
///
/// A computed sum y of the n products a·b satisfies |y − Σ a·b| ≤ n·u·Σ |a|·|b| to first order
/// (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). Real errors are far
/// smaller, see error_bound in comparison.hpp.
///
/// @param input    batch × in_channels × height × width
/// @param weights  out_channels × in_channels × kernel × kernel
/// @throws ShapeError for an impossible shape; what `visit` throws
void for_each_image(const ConvShape& shape, const float* input, const float* weights,
                    const ImageVisitor& visit);

}  // namespace convlab::oracle
