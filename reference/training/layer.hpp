#pragma once

#include <memory>
#include <vector>

#include "common/network/preset.hpp"
#include "reference/training/shifted_conv.hpp"

namespace convlab::training {

/// A parameter that is learnt, and the loss's gradient by it.
struct Tensor {
  std::vector<float> values;
  std::vector<float> gradient;
};

/// Memory that one thread reuses from call to call.
struct Scratch {
  ShiftedConv::Scratch conv;
  std::vector<float> row;
};

/// A layer that can be run backwards. One step of training calls
///
///     start_step(parts)      the parameters have changed; `parts` calls of backward will come
///     forward                any number of times, for parts of the batch
///     backward               part by part, after forward
///     finish_step()          gradients of the parameters are complete
///
/// A `whole_batch` layer gets the batch in one part and may use all threads itself. Any other layer
/// gets its batch in parts, from several threads at once; the parts do not depend on the number of
/// threads.
class TrainableLayer {
 public:
  TrainableLayer() = default;
  TrainableLayer(const TrainableLayer&) = delete;
  TrainableLayer& operator=(const TrainableLayer&) = delete;
  virtual ~TrainableLayer() = default;

  [[nodiscard]] virtual bool whole_batch() const { return false; }

  virtual void start_step(int /*parts*/) {}

  virtual void forward(const float* input, float* output, int images, Scratch& scratch) = 0;

  /// @param d_output  gradient of the loss by the output
  /// @param d_input   receives the gradient by the input; null if not needed
  virtual void backward(const float* input, const float* output, const float* d_output,
                        float* d_input, int images, int part, Scratch& scratch) = 0;

  virtual void finish_step() {}

  /// In the order of empty_weights.
  [[nodiscard]] virtual std::vector<Tensor*> tensors() { return {}; }
};

/// The layer of a preset at the place where its input has shape `in`, parameters all zero.
std::unique_ptr<TrainableLayer> make_layer(const Layer& layer, const FeatureShape& in);

}  // namespace convlab::training
