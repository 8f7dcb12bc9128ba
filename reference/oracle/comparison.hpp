#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/stage/stage.hpp"
#include "common/tensor/conv_shape.hpp"

namespace convlab::oracle {

/// What an output array holds before a stage runs: the bits of a quiet NaN with a payload that no
/// arithmetic produces. An element that still has them was never written.
inline constexpr std::uint32_t kPoisonBits = 0x7fd5'aaaa;

/// How much an output may differ from the exact values.
struct Tolerance {
  /// In units of 2^-24 · Σ|a||b|; 0 asks for equality.
  double bound = 0.0;
  /// Per product, for results so small that single precision has fewer digits for them.
  double underflow = 0.0;
  /// Absolute error of rounding one input that is too small for full precision: halves below 2^-14
  /// are 2^-24 apart. Moves a product by up to this times the other factor.
  double input_underflow = 0.0;

  /// For integer-valued inputs whose sums stay below 2^24: every order of summation is exact.
  static Tolerance exact() { return {}; }
  static Tolerance of(Precision precision);
};

/// The largest |error| / (2^-24 · Σ|a||b|) that a precision class may show.
///
/// fp32: right implementations of 49 to 784 taps stay below 8 on random inputs and reach 16.3 on
/// the test images; inputs rounded to TF32 or FP16 give 900 and more, so 32 separates the two. tf32
/// and fp16: rounding both inputs to 11 significant bits moves a product by up to 2^-10 + 2^-22,
/// which is 16 388 units, and the sums are those of fp32. bf16: 8 significant bits, 2^-7 + 2^-16,
/// which is 131 328 units. fp16-sums: each of n additions rounds by
/// up to 2^-11 of the sum so far, which is 8 192 units, so n · 8 192 is certain and useless: at 784
/// taps 38 % of Σ|a||b|. Roundings of both signs cancel. Right implementations that add one product
/// after the other in halves stay below 39 000 units at 49 to 784 taps if products have both signs;
/// if all are positive, the sum grows as it goes, and they reach 65 500 at 49 taps, 137 000 at 196,
/// 326 000 at 784 (60 000 sums of random inputs each); on the test images 96 400. The bound,
/// 64 · 8 192 + 16 388, leaves room above that. It is 3 % of Σ|a||b|: too much to notice one wrong
/// tap of many, which is the matter of the cases with whole numbers, exact in every class.
double error_bound(Precision precision);

/// One element that is wrong.
struct Mismatch {
  int image = 0;
  int map = 0;
  int row = 0;
  int column = 0;
  double expected = 0.0;
  float got = 0.0F;

  friend bool operator==(const Mismatch&, const Mismatch&) = default;
};

struct ErrorReport {
  std::int64_t compared = 0;
  std::int64_t wrong = 0;       ///< not finite, or out of bounds
  std::int64_t not_finite = 0;  ///< NaN or infinite, of the wrong ones
  std::int64_t unwritten = 0;   ///< still poison, of the not finite ones
  double worst_ratio = 0.0;     ///< largest |error| / (2^-24 · Σ|a||b|) of the finite elements
  double bound = 0.0;           ///< the ratio that was allowed
  std::optional<Mismatch> first{};  ///< the wrong element that comes first in memory

  // How many elements are wrong in each image, map, row and column. Their pattern hints at the bug.
  std::vector<std::int64_t> wrong_in_image{};
  std::vector<std::int64_t> wrong_in_map{};
  std::vector<std::int64_t> wrong_in_row{};
  std::vector<std::int64_t> wrong_in_column{};

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
