#include "reference/training/model.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/data/random.hpp"
#include "common/network/network.hpp"

namespace convlab::training {

namespace {

// Images that one thread takes through the layers together. A fixed number, so that sums over parts
// do not depend on the number of threads.
constexpr int kPartImages = 4;

bool relu_follows(const std::vector<Layer>& layers, std::size_t i) {
  for (++i; i < layers.size(); ++i) {
    if (const auto* activation = std::get_if<ActivationLayer>(&layers[i])) {
      return activation->function == ActivationFunction::kRelu;
    }
    if (!std::holds_alternative<PoolLayer>(layers[i])) return false;
  }
  return false;
}

}  // namespace

Model::Model(Preset preset, std::uint64_t seed)
    : preset_(std::move(preset)), scratch_(static_cast<std::size_t>(omp_get_max_threads())) {
  preset_.layers = with_activations_after_max_pools(preset_.layers);
  shapes_ = preset_.feature_shapes();
  features_.resize(shapes_.size());
  gradients_.resize(shapes_.size());
  Random random(seed);
  for (std::size_t i = 0; i < preset_.layers.size(); ++i) {
    layers_.push_back(make_layer(preset_.layers[i], shapes_[i]));
    const bool whole_batch = layers_.back()->whole_batch();
    if (runs_.empty() || whole_batch || runs_.back().whole_batch) {
      runs_.push_back({i, i, whole_batch});
    }
    runs_.back().last = i + 1;

    const std::vector<Tensor*> tensors = layers_.back()->tensors();
    if (tensors.empty()) continue;
    std::vector<float>& values = tensors.front()->values;  // a bias, if any, stays 0
    const double fan_in = std::holds_alternative<ConvLayer>(preset_.layers[i])
                              ? static_cast<double>(values.size()) / shapes_[i + 1].channels
                              : static_cast<double>(shapes_[i].size());
    const auto bound =
        static_cast<float>(std::sqrt((relu_follows(preset_.layers, i) ? 6.0 : 3.0) / fan_in));
    for (float& value : values) value = bound * (2 * random.uniform() - 1);
  }
}

float* Model::gradients(std::size_t i, int image) {
  return i == 0 ? nullptr : gradients_[i].data() + image * shapes_[i].size();
}

template <typename Action>
void Model::for_each_part(bool whole_batch, int batch, const Action& action) {
  if (whole_batch) {
    action(0, batch, 0, scratch_.front());
    return;
  }
  const int parts = (batch + kPartImages - 1) / kPartImages;
#pragma omp parallel for schedule(dynamic)
  for (int part = 0; part < parts; ++part) {
    const int image = part * kPartImages;
    action(image, std::min(kPartImages, batch - image), part,
           scratch_[static_cast<std::size_t>(omp_get_thread_num())]);
  }
}

void Model::forward(const Run& run, int batch) {
  for_each_part(run.whole_batch, batch, [&](int image, int images, int /*part*/, Scratch& scratch) {
    for (std::size_t i = run.first; i < run.last; ++i) {
      layers_[i]->forward(features(i, image), features(i + 1, image), images, scratch);
    }
  });
}

void Model::backward(const Run& run, int batch) {
  for_each_part(run.whole_batch, batch, [&](int image, int images, int part, Scratch& scratch) {
    for (std::size_t i = run.last; i-- > run.first;) {
      layers_[i]->backward(features(i, image), features(i + 1, image), gradients(i + 1, image),
                           gradients(i, image), images, part, scratch);
    }
  });
}

Loss Model::step(const float* images, const std::uint8_t* labels, int batch) {
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const auto size = static_cast<std::size_t>(batch * shapes_[i].size());
    features_[i].resize(size);
    if (i > 0) gradients_[i].resize(size);
  }
  std::copy_n(images, features_.front().size(), features_.front().begin());

  for (const auto& layer : layers_) layer->start_step((batch + kPartImages - 1) / kPartImages);
  for (const Run& run : runs_) forward(run, batch);
  const Loss loss = cross_entropy(features_.back().data(), labels, batch, preset_.classes,
                                  gradients_.back().data());
  std::for_each(runs_.rbegin(), runs_.rend(), [&](const Run& run) { backward(run, batch); });
  for (const auto& layer : layers_) layer->finish_step();
  return loss;
}

std::vector<Tensor*> Model::tensors() const {
  std::vector<Tensor*> all;
  for (const auto& layer : layers_) {
    for (Tensor* tensor : layer->tensors()) all.push_back(tensor);
  }
  return all;
}

Weights Model::weights() const {
  Weights weights = empty_weights(preset_);
  const std::vector<Tensor*> all = tensors();
  for (std::size_t i = 0; i < all.size(); ++i) weights.parameters[i].values = all[i]->values;
  return weights;
}

void Model::set_weights(const Weights& weights) {
  check_weights(preset_, weights);
  const std::vector<Tensor*> all = tensors();
  for (std::size_t i = 0; i < all.size(); ++i) all[i]->values = weights.parameters[i].values;
}

}  // namespace convlab::training
