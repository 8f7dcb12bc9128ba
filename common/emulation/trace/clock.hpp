#pragma once

// What a thread knows of others: up to which time what they did is done for it.

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace convlab::emulation {

/// A thread of a block that ran, counted over all blocks; the threads of a warp follow each other
/// from a multiple of 32. 0 is none.
using Unit = std::uint32_t;
/// Grows with each event that orders threads. Threads are emulated one after the other, so one
/// count serves all of them.
using Stamp = std::uint32_t;

/// Knowledge that came by other ways than barriers: by fences, atomic operations, objects of
/// libcu++. Ranges of units, each known up to a stamp.
class Clock {
 public:
  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  void clear() { ranges_.clear(); }

  void add(Unit begin, Unit end, Stamp stamp) {
    Stamp& known = ranges_[{begin, end}];
    known = std::max(known, stamp);
  }
  void join(const Clock& other) {
    for (const auto& [range, stamp] : other.ranges_) add(range.first, range.second, stamp);
  }
  /// Leaves out what lies in a range that is known up to `stamp`.
  void forget(Unit begin, Unit end, Stamp stamp) {
    std::erase_if(ranges_, [&](const auto& each) {
      return each.first.first >= begin && each.first.second <= end && each.second <= stamp;
    });
  }
  [[nodiscard]] bool knows(Unit unit, Stamp stamp) const {
    // Ranges are threads, warps and blocks; those that contain a unit begin at or before it.
    for (auto at = ranges_.upper_bound({unit, ~Unit{0}}); at != ranges_.begin();) {
      --at;
      const auto& [range, known] = *at;
      if (unit < range.second && stamp <= known) return true;
      if (range.first + kMostThreads <= unit) return false;
    }
    return false;
  }

 private:
  static constexpr Unit kMostThreads = 1024;
  std::map<std::pair<Unit, Unit>, Stamp> ranges_;
};

}  // namespace convlab::emulation
