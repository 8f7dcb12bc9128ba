// What may run at the same time, by the order that streams, events and the host give.

#include <algorithm>
#include <utility>

#include "common/emulation/runtime/stream.hpp"

namespace convlab::emulation {

std::pair<std::vector<int>, std::vector<int>> StreamScheduler::take_beside() {
  constexpr std::size_t kMuchSmaller = 16;
  const std::lock_guard lock(mutex_);
  copies_ = kernels_ = 0;
  const std::vector<NotedWork> noted = std::exchange(noted_, {});
  std::size_t largest = 1;
  for (const NotedWork& each : noted) largest = std::max(largest, each.bytes);
  const auto comes_first = [](const RunningWork& one, const RunningWork& other) {
    const auto known = other.surely_before.find(one.stream);
    return known != other.surely_before.end() && known->second >= one.number;
  };
  const auto are_beside = [&](const NotedWork& kernel, const NotedWork& copy) {
    return kernel.is_kernel && copy.bytes > 0 && copy.bytes >= largest / kMuchSmaller &&
           copy.place.stream != kernel.place.stream && !comes_first(copy.place, kernel.place) &&
           !comes_first(kernel.place, copy.place);
  };
  std::pair<std::vector<int>, std::vector<int>> beside;
  for (const NotedWork& one : noted) {
    const auto with_one = [&](const NotedWork& other) {
      return are_beside(one, other) || are_beside(other, one);
    };
    if (std::ranges::any_of(noted, with_one))
      (one.is_kernel ? beside.first : beside.second).push_back(one.order);
  }
  return beside;
}

}  // namespace convlab::emulation
