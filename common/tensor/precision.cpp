#include "common/tensor/precision.hpp"

#include "common/error/enum_name.hpp"

namespace convlab {

const char* to_string(Precision precision) {
  return enum_name(precision, {"fp32", "tf32", "fp16", "fp16-sums"});
}

}  // namespace convlab
