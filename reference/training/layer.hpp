#pragma once

#include <cstdint>
#include <vector>

#include "common/network/preset.hpp"

namespace convlab::training {

/// A parameter that is learnt, the loss's gradient by it, and the optimiser's two moments of that.
struct Tensor {
  explicit Tensor(std::int64_t size)
      : values(static_cast<std::size_t>(size)),
        gradient(values.size()),
        mean(values.size()),
        variance(values.size()) {}

  std::vector<float> values;
  std::vector<float> gradient;
  std::vector<float> mean;
  std::vector<float> variance;
};

/// A layer that can be run backwards. Uses all threads; results do not depend on their number.
class TrainableLayer {
 public:
  /// @param in  the shape of one image at this place; parameters are all zero
  TrainableLayer(const Layer& layer, const FeatureShape& in);

  /// @param input   images × in
  /// @param output  images × output_shape(layer, in)
  void forward(const float* input, float* output, int images) const;

  /// Behind forward with the same input; sets the gradients of the tensors.
  /// @param d_output  gradient of the loss by the output
  /// @param d_input   receives the gradient by the input; null if not needed
  void backward(const float* input, const float* output, const float* d_output, float* d_input,
                int images);

  /// In the order of empty_weights: weights, then a dense layer's bias.
  [[nodiscard]] std::vector<Tensor>& tensors() { return tensors_; }

 private:
  void convolve_backward(const ConvShape& shape, const float* input, const float* d_output,
                         float* d_input);
  void dense_backward(int units, const float* input, const float* d_output, float* d_input,
                      int images);

  Layer layer_;
  FeatureShape in_;
  FeatureShape out_;
  std::vector<Tensor> tensors_;
};

/// Forward convolution as ConvShape says, in single precision, on all threads.
void convolve(const ConvShape& shape, const float* input, const float* weights, float* output);

}  // namespace convlab::training
