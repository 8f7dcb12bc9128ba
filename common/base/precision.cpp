#include "common/base/precision.hpp"

#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"

namespace convlab {

const char* to_string(Precision precision) {
  return enum_name(precision, {"fp32", "tf32", "fp16", "bf16", "fp16-sums", "tf32-truncated",
                               "bf16-truncated", "fp16-products"});
}

const char* describe(Precision precision) {
  return enum_name(
      precision,
      {"single precision", "TF32 inputs with single-precision sums",
       "fp16 inputs with single-precision sums", "bfloat16 inputs with single-precision sums",
       "fp16 inputs with sums in half precision",
       "TF32 inputs, cut off instead of rounded, with single-precision sums",
       "bfloat16 inputs, cut off instead of rounded, with single-precision "
       "sums",
       "fp16 inputs and products with single-precision sums"});
}

Precision parse_precision(const std::string& name) {
  std::string known;
  for (int i = 0; i <= static_cast<int>(Precision::kFp16Products); ++i) {
    const auto precision = static_cast<Precision>(i);
    if (name == to_string(precision)) return precision;
    known += std::string(known.empty() ? "" : ", ") + to_string(precision);
  }
  throw UsageError("There is no precision class '" + name + "'; the classes are: " + known + ".");
}

}  // namespace convlab
