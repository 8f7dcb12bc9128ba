#pragma once

#include <cstdint>
#include <vector>

#include "reference/training/layer.hpp"

namespace convlab::training {

/// Turns gradients into steps:
///
///     m ← 0.9 m + 0.1 g,  v ← 0.999 v + 0.001 g²,  w ← (1 − rate · decay) · w − rate · m̂ / (√v̂ +
///     1e-8)
///
/// Source: Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015; Loshchilov and
/// Hutter, Decoupled Weight Decay Regularization, ICLR 2019.
struct Adam {
  std::vector<std::vector<float>> moments;  ///< m and v of each tensor
  std::int64_t steps = 0;

  /// The tensors are the same in each call.
  void step(const std::vector<Tensor*>& tensors, double rate, double decay);
};

}  // namespace convlab::training
