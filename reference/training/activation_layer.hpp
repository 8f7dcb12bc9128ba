#pragma once

#include "reference/training/layer.hpp"

namespace convlab::training {

/// ReLU or tanh; both derivatives follow from the output.
class TrainableActivation final : public TrainableLayer {
 public:
  TrainableActivation(const ActivationLayer& layer, const FeatureShape& in)
      : function_(layer.function), image_size_(in.size()) {}

  void forward(const float* input, float* output, int images, Scratch& scratch) override;
  void backward(const float* input, const float* output, const float* d_output, float* d_input,
                int images, int part, Scratch& scratch) override;

 private:
  ActivationFunction function_;
  std::int64_t image_size_;
};

}  // namespace convlab::training
