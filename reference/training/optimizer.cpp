#include "reference/training/optimizer.hpp"

#include <cmath>

namespace convlab::training {

void Adam::step(const std::vector<Tensor*>& tensors, double rate, double decay) {
  constexpr float kFirstDecay = 0.9F;
  constexpr float kSecondDecay = 0.999F;
  constexpr float kEpsilon = 1e-8F;
  moments.resize(2 * tensors.size());
  ++steps;
  // Both moments start at 0; the corrections remove that bias.
  const auto made = static_cast<double>(steps);
  const auto step = static_cast<float>(rate / (1 - std::pow(double{kFirstDecay}, made)));
  const auto correction =
      static_cast<float>(1 / std::sqrt(1 - std::pow(double{kSecondDecay}, made)));
  const auto keep = static_cast<float>(1 - rate * decay);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const auto size = static_cast<std::int64_t>(tensors[t]->values.size());
    moments[2 * t].resize(tensors[t]->values.size());
    moments[2 * t + 1].resize(tensors[t]->values.size());
    float* values = tensors[t]->values.data();
    const float* gradient = tensors[t]->gradient.data();
    float* m = moments[2 * t].data();
    float* v = moments[2 * t + 1].data();
#pragma omp parallel for simd schedule(static)
    for (std::int64_t i = 0; i < size; ++i) {
      m[i] = kFirstDecay * m[i] + (1 - kFirstDecay) * gradient[i];
      v[i] = kSecondDecay * v[i] + (1 - kSecondDecay) * gradient[i] * gradient[i];
      values[i] = keep * values[i] - step * m[i] / (std::sqrt(v[i]) * correction + kEpsilon);
    }
  }
}

}  // namespace convlab::training
