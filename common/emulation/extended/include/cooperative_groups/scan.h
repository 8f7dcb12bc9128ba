#pragma once

// cooperative_groups::inclusive_scan and exclusive_scan over tiles and coalesced groups, with the
// sum unless told otherwise.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <type_traits>

#include "common/emulation/extended/lane_reduction.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

namespace cooperative_groups {

template <class Group, class T, class Operation = plus<T>,
          class = std::enable_if_t<std::is_invocable_v<Operation, T, T>>>
T inclusive_scan(const Group& group, const T& value, const Operation& operation = {},
                 CONVLAB_CALL_SITE) {
  return convlab::emulation::meet_and_fold<T, Operation>(
      &convlab::emulation::scan_all<T, Operation>, "inclusive_scan", group.lanes().mask(), value,
      operation, site);
}

/// Rank 0 receives T{}.
template <class Group, class T, class Operation = plus<T>,
          class = std::enable_if_t<std::is_invocable_v<Operation, T, T>>>
T exclusive_scan(const Group& group, const T& value, const Operation& operation = {},
                 CONVLAB_CALL_SITE) {
  return convlab::emulation::meet_and_fold<T, Operation>(
      &convlab::emulation::exclusive_scan_all<T, Operation>, "exclusive_scan", group.lanes().mask(),
      value, operation, site);
}

}  // namespace cooperative_groups

// NOLINTEND(readability-identifier-naming)
