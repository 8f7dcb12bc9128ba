#pragma once

#include <cstdint>
#include <vector>

#include "common/network/weights.hpp"

namespace convlab::training {

/// A parameter that is learnt, the loss's gradient by it, and the optimiser's two moments of that.
struct Tensor {
  explicit Tensor(std::int64_t size) : values(static_cast<std::size_t>(size)) {}

  std::vector<float> values;
  std::vector<float> gradient = std::vector<float>(values.size());
  std::vector<float> mean = gradient;
  std::vector<float> variance = gradient;
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

struct Loss {
  double sum = 0;   ///< over the images, of −log of the true class's probability
  int correct = 0;  ///< images whose largest logit is the true class
};

/// Softmax and cross-entropy.
/// @param logits    images × classes
/// @param d_logits  receives the gradient of the mean loss of these images
Loss cross_entropy(const float* logits, const std::uint8_t* labels, int images, int classes,
                   float* d_logits);

/// A network that learns: its layers, their parameters, and the memory between the layers.
class Model {
 public:
  /// Parameters drawn from the seed, uniformly and scaled by the number of inputs: ±√(6/n) in front
  /// of a ReLU, ±√(3/n) elsewhere; biases 0.
  /// Source: He et al., Delving Deep into Rectifiers, ICCV 2015.
  Model(Preset preset, std::uint64_t seed);

  /// Forward, loss and backward of one batch of batch × image_size × image_size pixels; afterwards
  /// the tensors hold the gradient of the mean loss.
  Loss step(const float* images, const std::uint8_t* labels, int batch);

  /// Moves the parameters by their gradients, for the time `steps`:
  ///
  ///     m ← 0.9 m + 0.1 g,  v ← 0.999 v + 0.001 g²,
  ///     w ← (1 − rate · decay) · w − rate · m̂ / (√v̂ + 1e-8)
  ///
  /// Source: Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015; Loshchilov and
  /// Hutter, Decoupled Weight Decay Regularization, ICLR 2019.
  void learn(std::int64_t steps, double rate, double decay);

  /// In the order of empty_weights(preset).
  [[nodiscard]] std::vector<Tensor*> tensors();

  [[nodiscard]] Weights weights();

 private:
  Preset preset_;
  std::vector<FeatureShape> shapes_;
  std::vector<TrainableLayer> layers_;
  std::vector<std::vector<float>> features_;   // between layers, layers_.size() + 1 of them
  std::vector<std::vector<float>> gradients_;  // of the loss by them; none by the images
};

}  // namespace convlab::training
