#pragma once

#include <vector>

#include "common/base/conv_shape.hpp"

namespace convlab::oracle {

/// Unit roundoff of single precision, 2^-24: a correctly rounded operation is off by at most this
/// part of its result.
inline constexpr double kUnitRoundoff = 1.0 / (1 << 24);

/// The convolution in double precision, on all threads: Σ a·b of each output element. A computed
/// sum y of the n products a·b satisfies |y − Σ a·b| ≤ n·u·Σ |a|·|b| to first order (Higham,
/// Accuracy and Stability of Numerical Algorithms, section 3.1). Real errors are far smaller, see
/// error_bound in comparison.hpp.
/// @throws ShapeError for an impossible shape
std::vector<double> exact_sums(const ConvShape& shape, const float* input, const float* weights);

}  // namespace convlab::oracle
