#pragma once

// cooperative_groups::inclusive_scan and exclusive_scan over tiles and coalesced groups, with the
// sum unless told otherwise.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

namespace cooperative_groups {

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
                                          group.lanes().mask(), value, operation, site);           \
  }
CONVLAB_SCAN(inclusive_scan, true)
CONVLAB_SCAN(exclusive_scan, false)
#undef CONVLAB_SCAN

}  // namespace cooperative_groups

// NOLINTEND(readability-identifier-naming)
