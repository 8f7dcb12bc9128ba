#pragma once

// cooperative_groups::reduce and scans over tiles and coalesced groups, in one meeting of the
// lanes.

#include <cooperative_groups.h>

#include <array>
#include <cstddef>
#include <type_traits>

namespace convlab::emulation {

template <class T, class Operation>
struct FoldInput {
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
    const auto& in = exchange.input<FoldInput<T, Operation>>(lane);
    values[count++] = in.value;
    operation = in.operation;
  }
  for (std::size_t stride = kWarpSize / 2; stride > 0; stride /= 2) {
    for (std::size_t i = 0; i < stride && i + stride < count; ++i)
      values[i] = (*operation)(values[i], values[i + stride]);
    count = count < stride ? count : stride;
  }
  for (const int lane : exchange.lanes()) exchange.output<T>(lane) = values[0];
}

/// What `function` makes of the values of all lanes in the mask.
template <class T, class Operation>
T fold_lanes(const WarpOperation& function, std::uint32_t mask, const T& value,
             const Operation& operation, CallSite site) {
  const FoldInput<T, Operation> in{value, &operation};
  T out;
  warp_collective(function, mask, &in, &out, site);
  return out;
}

}  // namespace convlab::emulation

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

namespace cooperative_groups {

#define CONVLAB_OPERATION(name, expression)                           \
  template <class T>                                                  \
  struct name {                                                       \
    T operator()(const T& a, const T& b) const { return expression; } \
  };
CONVLAB_OPERATION(plus, a + b)
CONVLAB_OPERATION(less, b < a ? b : a)
CONVLAB_OPERATION(greater, a < b ? b : a)
CONVLAB_OPERATION(bit_and, a& b)
CONVLAB_OPERATION(bit_or, a | b)
CONVLAB_OPERATION(bit_xor, a ^ b)
#undef CONVLAB_OPERATION

namespace detail {
template <class Group, class = void>
constexpr bool is_wide = false;
template <class Group>
constexpr bool is_wide<Group, std::enable_if_t<Group::kIsWide>> = true;
}  // namespace detail

/// operation over the values of all members, which all receive the result. The order is that of a
/// tree: halves are folded onto each other.
template <class Group, class T, class Operation>
T reduce(const Group& group, const T& value, Operation&& operation, CONVLAB_CALL_SITE) {
  static_assert(!std::is_same_v<Group, thread_block>,
                "reduce takes a tile or a coalesced group, not the whole block");
  using Plain = convlab::emulation::Plain<Operation>;
  if constexpr (detail::is_wide<Group>)
    return group.fold(value, operation, site);
  else
    return convlab::emulation::fold_lanes<T, Plain>(
        {&convlab::emulation::reduce_all<T, Plain>, "reduce"}, group.mask(), value, operation,
        site);
}

// ---- inclusive_scan and exclusive_scan, with the sum unless told otherwise ----------------------

namespace detail {
/// Every lane receives the fold of the values of all ranks up to its own, from rank 0 upwards;
/// without its own value if not kInclusive: rank 0 then receives T{}.
template <class T, class Operation, bool kInclusive>
void scan_all(convlab::emulation::WarpExchange& exchange) {
  T sum{};
  bool first = true;
  for (const int lane : exchange.lanes()) {
    const auto& in = exchange.input<convlab::emulation::FoldInput<T, Operation>>(lane);
    if (!kInclusive) exchange.output<T>(lane) = sum;
    sum = first ? in.value : (*in.operation)(sum, in.value);
    first = false;
    if (kInclusive) exchange.output<T>(lane) = sum;
  }
}
}  // namespace detail

#define CONVLAB_SCAN(name, is_inclusive)                                                           \
  template <class Group, class T, class Operation = plus<T>,                                       \
            class = std::enable_if_t<std::is_invocable_v<Operation, T, T>>>                        \
  T name(const Group& group, const T& value, const Operation& operation = {}, CONVLAB_CALL_SITE) { \
    return convlab::emulation::fold_lanes({&detail::scan_all<T, Operation, is_inclusive>, #name},  \
                                          group.mask(), value, operation, site);                   \
  }
CONVLAB_SCAN(inclusive_scan, true)
CONVLAB_SCAN(exclusive_scan, false)
#undef CONVLAB_SCAN

}  // namespace cooperative_groups

// NOLINTEND(readability-identifier-naming)
