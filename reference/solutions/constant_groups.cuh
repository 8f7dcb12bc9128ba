#pragma once

// Weights in constant memory, as many maps at a time as fit.

#include <cuda_runtime.h>

#include <algorithm>
#include <string>
#include <type_traits>

#include "common/base/conv_shape.hpp"
#include "common/base/error.hpp"

namespace convlab {

constexpr int kConstantBytes = 64 << 10;  // all of it

/// How many maps fit with their weights.
/// @tparam Number  the type of a weight there
/// @param step  maps that a thread reads at a time; the result is a multiple of it, perhaps 0
template <class Number>
int maps_in_constant_memory(const ConvShape& shape, int step) {
  return kConstantBytes / static_cast<int>(sizeof(Number)) / shape.taps() / step * step;
}

/// Calls launch(first, maps) for one such group of maps after the other.
/// @throws EnvironmentError if not even `step` maps fit
template <class Number, class Launch>
void for_each_constant_group(const ConvShape& shape, int step, const Launch& launch) {
  const int maps_at_once = maps_in_constant_memory<Number>(shape, step);
  if (maps_at_once == 0) {
    throw EnvironmentError("The weights of " +
                           (step == 1 ? "one map" : std::to_string(step) + " maps") + " (" +
                           std::to_string(step * shape.taps()) +
                           (std::is_same_v<Number, float> ? " floats" : " halves") +
                           ") do not fit into 64 KiB of constant memory; take another stage for "
                           "this shape.");
  }
  for (int first = 0; first < shape.out_channels; first += maps_at_once) {
    launch(first, std::min(maps_at_once, shape.out_channels - first));
  }
}

}  // namespace convlab
