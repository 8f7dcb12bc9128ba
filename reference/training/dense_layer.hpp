#pragma once

#include <vector>

#include "reference/training/layer.hpp"

namespace convlab::training {

/// Fully connected: weights units × inputs, and a bias. Uses all threads by itself, because its
/// weights are too large for a gradient per part of the batch.
class TrainableDense final : public TrainableLayer {
 public:
  TrainableDense(const DenseLayer& layer, const FeatureShape& in);

  [[nodiscard]] bool whole_batch() const override { return true; }
  void forward(const float* input, float* output, int images, Scratch& scratch) override;
  void backward(const float* input, const float* output, const float* d_output, float* d_input,
                int images, int part, Scratch& scratch) override;
  [[nodiscard]] std::vector<Tensor*> tensors() override { return {&weights_, &bias_}; }

 private:
  int units_;
  std::int64_t inputs_;
  Tensor weights_;
  Tensor bias_;
};

}  // namespace convlab::training
