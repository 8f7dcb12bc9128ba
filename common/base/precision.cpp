#include "common/base/precision.hpp"

#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"
#include "common/base/unknown_name.hpp"

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
       "bfloat16 inputs, cut off instead of rounded, with single-precision sums",
       "fp16 inputs and products with single-precision sums"});
}

Precision parse_precision(const std::string& name) {
  std::vector<std::string> known;
  for (int i = 0; i <= static_cast<int>(Precision::kFp16Products); ++i) {
    known.emplace_back(to_string(static_cast<Precision>(i)));
    if (name == known.back()) return static_cast<Precision>(i);
  }
  throw UsageError(unknown_name("precision", name, known));
}

}  // namespace convlab
