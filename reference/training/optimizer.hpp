#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/training/layer.hpp"

namespace convlab::training {

enum class Method { kAdam, kMomentum };

/// "adam", "momentum".
const char* to_string(Method method);

/// Turns gradients into steps.
///
///     adam      m ← 0.9 m + 0.1 g,  v ← 0.999 v + 0.001 g²,  w ← w − rate · m̂ / (√v̂ + 1e-8)
///     momentum  m ← 0.9 m + g,  w ← w − rate · m
///
/// and with both, w ← (1 − rate · decay) · w before.
/// Source: Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015; Loshchilov and
/// Hutter, Decoupled Weight Decay Regularization, ICLR 2019.
class Optimizer {
 public:
  /// Learns these tensors, which outlive the optimizer.
  Optimizer(Method method, std::vector<Tensor*> tensors);

  void step(double rate, double decay);

  /// The state that the next step depends on: per tensor m and, for adam, v; and the steps made.
  struct State {
    std::vector<std::vector<float>> moments;
    std::int64_t steps = 0;
  };
  [[nodiscard]] const State& state() const { return state_; }
  void set_state(State state) { state_ = std::move(state); }

 private:
  Method method_;
  std::vector<Tensor*> tensors_;
  State state_;
};

}  // namespace convlab::training
