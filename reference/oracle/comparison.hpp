#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/stage/stage.hpp"

namespace convlab::oracle {

/// What an output array holds before a stage runs: the bits of a quiet NaN with a payload that no
/// arithmetic produces. An element that still has them was never written.
inline constexpr std::uint32_t kPoisonBits = 0x7fd5'aaaa;

/// How much an output may differ from the exact values: by
///
///     bound · 2^-24 · Σ m(a)·m(b) + n · underflow
///
/// over the n products a·b of the element, with m(x) = rounding_magnitude(x, smallest_normal) of
/// image_oracle.hpp.
struct Tolerance {
  double bound = 0.0;            ///< error_bound; 0 asks for equality
  double underflow = 0.0;        ///< per product, for results with fewer digits than usual
  double smallest_normal = 0.0;  ///< of the format of the inputs, 2^-14 for halves; else 0

  /// For integer-valued inputs whose sums stay below 2^24: every order of summation is exact.
  static Tolerance exact() { return {}; }
  static Tolerance of(Precision precision, const ConvShape& shape);

  /// What a transform may err that mixes pixels which lie in no window together: its errors follow
  /// the largest products of an image, not those of one output.
  [[nodiscard]] Tolerance of_transform(const ConvShape& shape, const float* input,
                                       const float* weights) const;
};

/// The largest |error| / (2^-24 · Σ m(a)·m(b)) that a precision class may show.
///
/// Rounding x to a format moves it by δ(x) ≤ r·m(x): r is the format's unit roundoff, 2^-11 for
/// TF32 and half, 2^-8 for bfloat16, twice that where bits are cut off; m(x) = |x|, but in half
/// precision numbers below 2^-14 have an absolute error (rounding_magnitude). A product then has an
/// error of at most |a|·δ(b) + |b|·δ(a) + δ(a)·δ(b) ≤ ((1 + r)² − 1)·m(a)·m(b), and with its own
/// rounding q of ((1 + r)²·(1 + q) − 1)·m(a)·m(b). These bounds are certain: they hold for inputs
/// of one sign, too, where errors add up.
///
/// Sums: n additions with unit roundoff s have an error of at most n·s·Σ|a||b|, which is certain
/// and much too wide; as roundings have both signs, λ·√n·s holds with a probability of
/// 1 − 2n·exp(−λ²/2) and more. Source: Higham and Mary, A New Approach to Probabilistic Rounding
/// Error Analysis, SIAM J. Sci. Comput. 41(5), 2019, theorem 2.4; Higham, Accuracy and Stability of
/// Numerical Algorithms, sections 2.2 and 3.1. In half precision (s = 2^-11) the bound is
/// min(n, 3·√n)·s: right implementations that add one product after the other reach 1.5·√n·s if
/// all products are positive, and 0.5·√n·s if not. In single precision it is 32 for every n: right
/// implementations of 49 to 784 taps stay below 8 on random inputs and reach 16.3 on test images.
///
/// The bound of sums in halves is 1 to 4 % of Σ|a||b|, that of inputs in bfloat16 up to 1.6 %: too
/// much to notice one wrong tap of many. That is the matter of the cases with whole numbers, which
/// every class computes exactly.
/// @param taps  n, in_channels · kernel²
double error_bound(Precision precision, int taps);

/// One element that is wrong.
struct Mismatch {
  int image = 0;
  int map = 0;
  int row = 0;
  int column = 0;
  double expected = 0.0;
  float got = 0.0F;

  /// By place.
  friend auto operator<=>(const Mismatch&, const Mismatch&) = default;
};

struct ErrorReport {
  std::int64_t compared = 0;
  std::int64_t wrong = 0;       ///< not finite, or out of bounds
  std::int64_t not_finite = 0;  ///< NaN or infinite, of the wrong ones
  std::int64_t unwritten = 0;   ///< still poison, of the not finite ones
  double worst_ratio = 0.0;  ///< largest |error| / (2^-24 · Σ m(a)·m(b)) of the finite elements
  double bound = 0.0;        ///< the ratio that was allowed
  std::optional<Mismatch> first{};  ///< the wrong element that comes first in memory

  /// True if every element was compared and none is wrong.
  [[nodiscard]] bool passed(const ConvShape& shape) const {
    return wrong == 0 && compared == shape.output_size();
  }
};

/// Computes the double-precision truth and compares every element of `output` with it on the way,
/// so that only the arrays themselves take memory. The test is !(error <= bound), and finiteness is
/// read from the bits, so no NaN passes.
///
/// @param output  batch × out_channels × out_height × out_width
/// @throws ShapeError for an impossible shape
ErrorReport compare(const ConvShape& shape, const float* input, const float* weights,
                    const float* output, const Tolerance& tolerance);

}  // namespace convlab::oracle
