#pragma once

#include <vector>

#include "reference/training/layer.hpp"

namespace convlab::training {

/// Convolution without padding and bias; weights as ConvShape says.
class TrainableConv final : public TrainableLayer {
 public:
  TrainableConv(const ConvLayer& layer, const FeatureShape& in);

  void start_step(int parts) override;
  void forward(const float* input, float* output, int images, Scratch& scratch) override;
  void backward(const float* input, const float* output, const float* d_output, float* d_input,
                int images, int part, Scratch& scratch) override;
  void finish_step() override;
  [[nodiscard]] std::vector<Tensor*> tensors() override { return {&weights_}; }

 private:
  ConvShape shape_;
  ShiftedConv conv_;
  Tensor weights_;
  std::vector<std::vector<float>>
      part_gradients_;  // summed in order, whichever thread computed them
};

}  // namespace convlab::training
