#include "reference/training/optimizer.hpp"

#include <cmath>

namespace convlab::training {

namespace {

constexpr float kFirstDecay = 0.9F;
constexpr float kSecondDecay = 0.999F;
constexpr float kEpsilon = 1e-8F;

void adam_step(Tensor& tensor, std::vector<float>& first, std::vector<float>& second, float rate,
               float second_correction, float keep) {
  const auto size = static_cast<std::int64_t>(tensor.values.size());
  float* values = tensor.values.data();
  const float* gradient = tensor.gradient.data();
  float* m = first.data();
  float* v = second.data();
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < size; ++i) {
    m[i] = kFirstDecay * m[i] + (1 - kFirstDecay) * gradient[i];
    v[i] = kSecondDecay * v[i] + (1 - kSecondDecay) * gradient[i] * gradient[i];
    values[i] = keep * values[i] - rate * m[i] / (std::sqrt(v[i]) * second_correction + kEpsilon);
  }
}

void momentum_step(Tensor& tensor, std::vector<float>& momentum, float rate, float keep) {
  const auto size = static_cast<std::int64_t>(tensor.values.size());
  float* values = tensor.values.data();
  const float* gradient = tensor.gradient.data();
  float* m = momentum.data();
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < size; ++i) {
    m[i] = kFirstDecay * m[i] + gradient[i];
    values[i] = keep * values[i] - rate * m[i];
  }
}

}  // namespace

const char* to_string(Method method) {
  return method == Method::kAdam ? "adam" : "momentum";
}

Optimizer::Optimizer(Method method, std::vector<Tensor*> tensors)
    : method_(method), tensors_(std::move(tensors)) {
  for (const Tensor* tensor : tensors_) {
    for (int moment = 0; moment < (method == Method::kAdam ? 2 : 1); ++moment) {
      state_.moments.emplace_back(tensor->values.size());
    }
  }
}

void Optimizer::step(double rate, double decay) {
  ++state_.steps;
  const auto keep = static_cast<float>(1 - rate * decay);
  // Both moments start at 0; the corrections remove that bias.
  const auto steps = static_cast<double>(state_.steps);
  const double first = 1 - std::pow(double{kFirstDecay}, steps);
  const double second = 1 - std::pow(double{kSecondDecay}, steps);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (method_ == Method::kAdam) {
      adam_step(*tensors_[i], state_.moments[2 * i], state_.moments[2 * i + 1],
                static_cast<float>(rate / first), static_cast<float>(1 / std::sqrt(second)), keep);
    } else {
      momentum_step(*tensors_[i], state_.moments[i], static_cast<float>(rate), keep);
    }
  }
}

}  // namespace convlab::training
