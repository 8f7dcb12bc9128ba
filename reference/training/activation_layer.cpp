#include "reference/training/activation_layer.hpp"

#include <algorithm>

#include "common/network/layer_kernels.hpp"
#include "common/simd/isa.hpp"

namespace convlab::training {

void TrainableActivation::forward(const float* input, float* output, int images,
                                  Scratch& /*scratch*/) {
  const std::int64_t size = images * image_size_;
  std::copy_n(input, size, output);
  if (function_ == ActivationFunction::kRelu) {
    CONVLAB_ISA_SELECT(relu)(output, size);
  } else {
    CONVLAB_ISA_SELECT(tanh)(output, size);
  }
}

void TrainableActivation::backward(const float* /*input*/, const float* output,
                                   const float* d_output, float* d_input, int images, int /*part*/,
                                   Scratch& /*scratch*/) {
  if (d_input == nullptr) return;
  const std::int64_t size = images * image_size_;
  if (function_ == ActivationFunction::kRelu) {
    for (std::int64_t i = 0; i < size; ++i) d_input[i] = output[i] > 0 ? d_output[i] : 0.0F;
  } else {
    for (std::int64_t i = 0; i < size; ++i) d_input[i] = d_output[i] * (1 - output[i] * output[i]);
  }
}

}  // namespace convlab::training
