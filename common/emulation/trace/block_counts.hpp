#pragma once

// What is gathered of a block that runs, for access_counts.cpp: requests of a warp that the
// compiler for a GPU joins to a wider one, and which accesses to shared memory each barrier keeps
// apart.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
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

/// Who touched a word of shared memory last.
struct Touch {
  Place place = 0;
  int thread = -1;
  std::uint32_t barriers = 0;  ///< that the thread had passed
};

struct Word {
  Touch write;
  Touch read;
  Touch other_read;  ///< the last one by another thread than `read`
};

/// Two accesses that one barrier keeps apart.
struct Need {
  CallSite barrier{};
  Place before = 0;
  bool before_writes = false;
  Place behind = 0;
  auto key() const { return std::tuple(barrier.position(), before, before_writes, behind); }
  friend bool operator<(const Need& a, const Need& b) { return a.key() < b.key(); }
};

/// The variable of each need, and how many pairs of accesses have it.
struct NeedCount {
  std::string variable{};
  std::string kernel{};
  std::int64_t pairs = 0;
};

using BarrierNeeds = std::map<Need, NeedCount>;

/// Of one block that runs.
struct SharedTouches {
  std::vector<std::uint32_t> barriers;  ///< passed, by thread
  std::vector<CallSite> sites;          ///< of the block's barriers, in order
  std::unordered_map<std::uintptr_t, Word> words{};

  void touch(BarrierNeeds& needs, const std::string& kernel, const std::string& variable,
             const void* address, std::size_t bytes, bool writes, const Touch& now) {
    constexpr std::uintptr_t kWord = 4;
    // The barrier between two accesses, if it is the only one.
    const auto note = [&](const Touch& before, bool before_writes) {
      if (before.thread < 0 || before.thread == now.thread) return;
      if (now.barriers != before.barriers + 1 || before.barriers >= sites.size()) return;
      NeedCount& need = needs[{sites[before.barriers], before.place, before_writes, now.place}];
      if (need.pairs++ > 0) return;
      need.variable = variable;
      need.kernel = kernel;
    };
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    for (auto at = begin / kWord; at <= (begin + bytes - 1) / kWord; ++at) {
      Word& word = words[at];
      note(word.write, true);
      if (writes) {
        note(word.read, false);
        note(word.other_read, false);
        word.write = now;
      } else {
        if (word.read.thread != now.thread) word.other_read = word.read;
        word.read = now;
      }
    }
  }
};

}  // namespace convlab::emulation
