#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/network/preset.hpp"
#include "common/network/weights.hpp"
#include "reference/training/layer.hpp"
#include "reference/training/loss.hpp"

namespace convlab::training {

/// A network that learns: its layers, their parameters, and the memory between the layers.
class Model {
 public:
  /// Parameters drawn from the seed, uniformly and scaled by the number of inputs: ±√(6/n) in front
  /// of a ReLU, ±√(3/n) elsewhere; biases 0.
  /// Source: He et al., Delving Deep into Rectifiers, ICCV 2015.
  Model(Preset preset, std::uint64_t seed);

  /// Forward, loss and backward of one batch; afterwards the tensors hold the gradient of the mean
  /// loss.
  /// @param images  batch × image_size × image_size
  Loss step(const float* images, const std::uint8_t* labels, int batch);

  /// In the order of empty_weights(preset).
  [[nodiscard]] std::vector<Tensor*> tensors() const;

  [[nodiscard]] Weights weights() const;
  void set_weights(const Weights& weights);

 private:
  /// Layers first … last − 1: either one layer that takes the whole batch, or as many others in a
  /// row as possible, so that a part of the batch passes all of them while it is in the cache.
  struct Run {
    std::size_t first = 0;
    std::size_t last = 0;
    bool whole_batch = false;
  };

  /// The arrays that layer i reads and writes for the images from `image` on.
  float* features(std::size_t i, int image) {
    return features_[i].data() + image * shapes_[i].size();
  }
  float* gradients(std::size_t i, int image);

  /// Calls action(image, images, part, scratch) for the parts of the batch.
  template <typename Action>
  void for_each_part(bool whole_batch, int batch, const Action& action);

  void forward(const Run& run, int batch);
  void backward(const Run& run, int batch);

  Preset preset_;  // activations moved behind maxima
  std::vector<FeatureShape> shapes_;
  std::vector<std::unique_ptr<TrainableLayer>> layers_;
  std::vector<Run> runs_;
  std::vector<std::vector<float>> features_;   // between layers, layers_.size() + 1 of them
  std::vector<std::vector<float>> gradients_;  // of the loss by them; none by the images
  std::vector<Scratch> scratch_;               // one per thread
};

}  // namespace convlab::training
