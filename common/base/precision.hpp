#pragma once

#include <string>

namespace convlab {

/// How exactly a stage promises to compute; the grader's error bound follows from it.
enum class Precision {
  kFp32,           ///< inputs, products and sums in single precision
  kTf32,           ///< inputs rounded to TF32 (10 bits of mantissa), sums in single precision
  kFp16,           ///< inputs rounded to half precision, sums in single precision
  kBf16,           ///< inputs rounded to bfloat16 (7 bits of mantissa), sums in single precision
  kFp16Sums,       ///< inputs, products and sums in half precision
  kTf32Truncated,  ///< as kTf32, but the low 13 bits are cut off, as tensor cores do it themselves
  kBf16Truncated,  ///< as kBf16, but the low 16 bits are cut off
  kFp16Products,   ///< inputs and products in half precision, sums in single precision
};

/// "fp32", "tf32", "fp16", "bf16", "fp16-sums", "tf32-truncated", "bf16-truncated",
/// "fp16-products".
const char* to_string(Precision precision);

/// "fp16 inputs with single-precision sums", for "computes like …".
const char* describe(Precision precision);

/// The inverse of to_string. @throws UsageError for another word; it lists the classes
Precision parse_precision(const std::string& name);

}  // namespace convlab
