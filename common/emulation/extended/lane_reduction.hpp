#pragma once

// Reductions and prefix sums over the lanes of a group, in one meeting of the lanes.

#include <array>
#include <cstddef>

#include "common/emulation/include/convlab_emulation/collective.hpp"

namespace convlab::emulation {

template <class T, class Operation>
struct ReductionInput {
  T value;
  const Operation* operation;
};

/// Folds halves onto each other, as a tree of shfl_down does: value i with value i + stride for
/// stride = 16, 8, … 1. All lanes receive the result of rank 0.
template <class T, class Operation>
void reduce_all(WarpExchange& exchange) {
  std::array<T, kWarpSize> values;
  std::size_t count = 0;
  const Operation* operation = nullptr;
  for (const int lane : exchange.lanes()) {
    const auto& in = exchange.input<ReductionInput<T, Operation>>(lane);
    values[count++] = in.value;
    operation = in.operation;
  }
  for (std::size_t stride = kWarpSize / 2; stride > 0; stride /= 2) {
    for (std::size_t i = 0; i < stride && i + stride < count; ++i) {
      values[i] = (*operation)(values[i], values[i + stride]);
    }
    count = count < stride ? count : stride;
  }
  for (const int lane : exchange.lanes()) exchange.output<T>(lane) = values[0];
}

/// Every lane receives the fold of the values of all ranks up to its own, from rank 0 upwards.
template <class T, class Operation>
void scan_all(WarpExchange& exchange) {
  T sum{};
  bool first = true;
  for (const int lane : exchange.lanes()) {
    const auto& in = exchange.input<ReductionInput<T, Operation>>(lane);
    sum = first ? in.value : (*in.operation)(sum, in.value);
    first = false;
    exchange.output<T>(lane) = sum;
  }
}

/// The same without the lane's own value; rank 0 receives T{}.
template <class T, class Operation>
void exclusive_scan_all(WarpExchange& exchange) {
  T sum{};
  bool first = true;
  for (const int lane : exchange.lanes()) {
    const auto& in = exchange.input<ReductionInput<T, Operation>>(lane);
    exchange.output<T>(lane) = first ? T{} : sum;
    sum = first ? in.value : (*in.operation)(sum, in.value);
    first = false;
  }
}

template <class T, class Operation>
T meet_and_fold(WarpFunction function, const char* name, std::uint32_t mask, const T& value,
                const Operation& operation, CallSite site) {
  const ReductionInput<T, Operation> in{value, &operation};
  T out;
  warp_collective({function, name}, mask, &in, &out, site);
  return out;
}

}  // namespace convlab::emulation
