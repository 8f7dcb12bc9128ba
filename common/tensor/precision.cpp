#include "common/tensor/precision.hpp"

namespace convlab {

const char* to_string(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "fp32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kFp16:
      return "fp16";
    case Precision::kFp16Sums:
      return "fp16-sums";
  }
  return "unknown";
}

}  // namespace convlab
