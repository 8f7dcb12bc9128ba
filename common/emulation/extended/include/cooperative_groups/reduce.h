#pragma once

// cooperative_groups::reduce over tiles and coalesced groups.

#include <cooperative_groups.h>

#include <type_traits>

#include "common/emulation/extended/lane_reduction.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

namespace cooperative_groups {

template <class T>
struct plus {
  T operator()(const T& a, const T& b) const { return a + b; }
};
template <class T>
struct less {
  T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
  T operator()(const T& a, const T& b) const { return a & b; }
};
template <class T>
struct bit_or {
  T operator()(const T& a, const T& b) const { return a | b; }
};
template <class T>
struct bit_xor {
  T operator()(const T& a, const T& b) const { return a ^ b; }
};

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
    return convlab::emulation::meet_and_fold<T, Plain>(&convlab::emulation::reduce_all<T, Plain>,
                                                       "reduce", group.lanes().mask(), value,
                                                       operation, site);
}

}  // namespace cooperative_groups

// NOLINTEND(readability-identifier-naming)
