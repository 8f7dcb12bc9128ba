#pragma once

#include "reference/training/layer.hpp"

namespace convlab::training {

/// Maximum or average over windows that are cut off at the border. The gradient of a maximum goes
/// to the first of the largest values.
class TrainablePool final : public TrainableLayer {
 public:
  TrainablePool(const PoolLayer& layer, const FeatureShape& in)
      : layer_(layer), in_(in), out_(output_shape(layer, in)) {}

  void forward(const float* input, float* output, int images, Scratch& scratch) override;
  void backward(const float* input, const float* output, const float* d_output, float* d_input,
                int images, int part, Scratch& scratch) override;

 private:
  void plane_gradient(const float* input, const float* d_output, float* d_input) const;

  PoolLayer layer_;
  FeatureShape in_;
  FeatureShape out_;
};

}  // namespace convlab::training
