#pragma once

namespace convlab::emulation {

/// How the tensor cores of a GPU add: so many products and C in one sum, cut to so many bits below
/// those of a float.
struct TensorCores {
  int extra_bits = 2;
  int group = 16;  ///< products of halves or bfloat16
  int tf32_group = 8;
};

/// Those of the emulated GPU.
inline const TensorCores& tensor_cores() {
  static constexpr TensorCores kHopper;
  return kHopper;
}

}  // namespace convlab::emulation
