#include "reference/training/model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/data/random.hpp"
#include "common/network/network.hpp"

namespace convlab::training {

Loss cross_entropy(const float* logits, const std::uint8_t* labels, int images, int classes,
                   float* d_logits) {
  Loss loss;
  for (int i = 0; i < images; ++i, logits += classes, d_logits += classes) {
    const int label = labels[i];
    // The largest exponent becomes 0, so that no power overflows.
    const float* largest = std::max_element(logits, logits + classes);
    const auto power = [&](int c) { return std::exp(double{logits[c]} - double{*largest}); };
    double sum = 0;
    for (int c = 0; c < classes; ++c) sum += power(c);
    for (int c = 0; c < classes; ++c) {
      d_logits[c] = static_cast<float>((power(c) / sum - (c == label ? 1 : 0)) / images);
    }
    loss.sum += std::log(sum) - (double{logits[label]} - double{*largest});
    if (largest - logits == label) ++loss.correct;
  }
  return loss;
}

Model::Model(Preset preset, std::uint64_t seed)
    : preset_(std::move(preset)),
      shapes_(preset_.feature_shapes()),
      features_(shapes_.size()),
      gradients_(shapes_.size()) {
  Random random(seed);
  for (std::size_t i = 0; i < preset_.layers.size(); ++i) {
    std::vector<Tensor>& tensors = layers_.emplace_back(preset_.layers[i], shapes_[i]).tensors();
    if (tensors.empty()) continue;
    std::vector<float>& values = tensors.front().values;  // a bias, if any, stays 0
    const auto fan_in = static_cast<double>(values.size()) / shapes_[i + 1].channels;
    const auto next = std::find_if(
        preset_.layers.begin() + static_cast<std::ptrdiff_t>(i) + 1, preset_.layers.end(),
        [](const Layer& layer) { return !std::holds_alternative<PoolLayer>(layer); });
    const auto* const activation =
        next == preset_.layers.end() ? nullptr : std::get_if<ActivationLayer>(&*next);
    const bool relu = activation != nullptr && activation->function == ActivationFunction::kRelu;
    const auto bound = static_cast<float>(std::sqrt((relu ? 6.0 : 3.0) / fan_in));
    for (float& value : values) value = bound * (2 * random.uniform() - 1);
  }
}

Loss Model::step(const float* images, const std::uint8_t* labels, int batch) {
  features_.front().assign(images, images + batch * shapes_.front().size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    features_[i + 1].resize(static_cast<std::size_t>(batch * shapes_[i + 1].size()));
    gradients_[i + 1].resize(features_[i + 1].size());
    layers_[i].forward(features_[i].data(), features_[i + 1].data(), batch);
  }
  const Loss loss = cross_entropy(features_.back().data(), labels, batch, preset_.classes,
                                  gradients_.back().data());
  for (std::size_t i = layers_.size(); i-- > 0;) {
    layers_[i].backward(features_[i].data(), features_[i + 1].data(), gradients_[i + 1].data(),
                        i == 0 ? nullptr : gradients_[i].data(), batch);
  }
  return loss;
}

void Model::learn(std::int64_t steps, double rate, double decay) {
  constexpr float kFirstDecay = 0.9F;
  constexpr float kSecondDecay = 0.999F;
  constexpr float kEpsilon = 1e-8F;
  // Both moments start at 0; the corrections remove that bias.
  const auto correction_of = [&](float decay_of_moment) {
    return 1 / (1 - std::pow(double{decay_of_moment}, static_cast<double>(steps)));
  };
  const auto step = static_cast<float>(rate * correction_of(kFirstDecay));
  const auto correction = static_cast<float>(std::sqrt(correction_of(kSecondDecay)));
  const auto keep = static_cast<float>(1 - rate * decay);
  for (Tensor* tensor : tensors()) {
    float* const values = tensor->values.data();
    const float* const gradient = tensor->gradient.data();
    float* const m = tensor->mean.data();
    float* const v = tensor->variance.data();
#pragma omp parallel for simd schedule(static)
    for (std::size_t i = 0; i < tensor->values.size(); ++i) {
      m[i] = kFirstDecay * m[i] + (1 - kFirstDecay) * gradient[i];
      v[i] = kSecondDecay * v[i] + (1 - kSecondDecay) * gradient[i] * gradient[i];
      values[i] = keep * values[i] - step * m[i] / (std::sqrt(v[i]) * correction + kEpsilon);
    }
  }
}

std::vector<Tensor*> Model::tensors() {
  std::vector<Tensor*> all;
  for (TrainableLayer& layer : layers_) {
    for (Tensor& tensor : layer.tensors()) all.push_back(&tensor);
  }
  return all;
}

Weights Model::weights() {
  Weights weights = empty_weights(preset_);
  const std::vector<Tensor*> all = tensors();
  for (std::size_t i = 0; i < all.size(); ++i) weights.parameters[i].values = all[i]->values;
  return weights;
}

}  // namespace convlab::training
