// What may run at the same time, by the order that streams, events and the host give.

#include <algorithm>
#include <utility>

#include "common/emulation/runtime/stream.hpp"

namespace convlab::emulation {

std::pair<StreamScheduler::Names, StreamScheduler::Names> StreamScheduler::take_beside() {
  constexpr std::size_t kMuchSmaller = 16;
  const std::lock_guard lock(mutex_);
  named_.clear();
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
  std::pair<Names, Names> beside;
  for (const NotedWork& one : noted) {
    const auto with_one = [&](const NotedWork& other) {
      return are_beside(one, other) || are_beside(other, one);
    };
    if (std::ranges::any_of(noted, with_one))
      (one.is_kernel ? beside.first : beside.second).push_back(one.name);
  }
  return beside;
}

}  // namespace convlab::emulation
