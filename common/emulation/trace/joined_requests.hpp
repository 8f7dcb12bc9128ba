#pragma once

// Requests of a warp that the compiler for a GPU joins to a wider one.

#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/emulation/trace/access_counts.hpp"

namespace convlab::emulation {

/// Requests that follow each other. Joined are loads of neighbours in shared memory: `p[i].x` and
/// `p[i].y` in one block of the program, `p[i]` in the turns of a loop that the compiler unrolls.
/// @tparam Spot   has `joins`, whether it is such a load; `writes`; `bytes`
/// @tparam Count  count(spot, request, bytes) for each request that is made
template <class Spot, class Count>
class JoinedRequests {
 public:
  explicit JoinedRequests(Count count) : count_(std::move(count)) {}

  void add(const Spot& here, const Request& request) {
    if (!here.joins) {
      if (here.writes) close();
      return make({&here, request, here.bytes});
    }
    for (Open& open : open_) {
      const bool is_same = open.here == &here;
      if (open.in_turn != turn_ && !is_same) continue;
      if (extends(open, here, request)) {
        open.bytes += here.bytes;
        open.in_turn = turn_;
        return;
      }
      if (!is_same) continue;
      make(open);
      open = {&here, request, here.bytes, turn_};
      return;
    }
    open_.push_back({&here, request, here.bytes, turn_});
  }

  /// Another block of the program begins.
  void turn() { ++turn_; }

  void close() {
    for (const Open& open : open_) make(open);
    open_.clear();
  }

 private:
  struct Open {
    const Spot* here;
    Request request;
    std::size_t bytes;
    int in_turn = 0;  ///< the last one in which it grew
  };

  void make(Open open) {
    for (std::size_t bytes = 0; open.bytes > 0; open.bytes -= bytes) {
      bytes = std::bit_floor(open.bytes);
      count_(*open.here, open.request, bytes);
      for (std::uintptr_t& address : open.request.address) address += bytes;
    }
  }

  // Aligned as one load must be.
  static bool extends(const Open& open, const Spot& here, const Request& request) {
    const std::size_t bytes = open.bytes + here.bytes;
    if (open.request.mask != request.mask || bytes > kWidestLoad) return false;
    for (const int lane : LaneRange(request.mask)) {
      const std::uintptr_t begin = open.request.address[static_cast<std::size_t>(lane)];
      if (begin % std::bit_ceil(bytes) != 0) return false;
      if (begin + open.bytes != request.address[static_cast<std::size_t>(lane)]) return false;
    }
    return true;
  }

  Count count_;
  std::vector<Open> open_;
  int turn_ = 0;
};

}  // namespace convlab::emulation
