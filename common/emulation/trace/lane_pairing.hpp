#pragma once

// Which of the things that threads did they did together, as lanes of a warp of a GPU.
//
// Idea     Each thread leaves a list: the blocks of the program that it came to, and what it did
//          there. Of all threads those go on that are furthest behind: in the deepest call, then at
//          the smallest address. The code stays in the order of the source, so a thread that has
//          left a loop or has skipped a branch waits behind it for the others, as lanes do. Blocks
//          that the compiler has put elsewhere are known by the way that threads take through them.
// Cost     A comparison for each event.
// Source   Collange, Stack-less SIMT reconvergence at low cost, 2011: "the lowest PC goes first".

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "common/emulation/trace/places.hpp"

namespace convlab::emulation {

/// Something that a thread did.
struct LaneEvent {
  std::uint64_t order = 0;  ///< the smallest goes first: depth of calls, address, what
  std::int64_t offset = 0;  ///< in memory

  /// What it is: a number of whoever records. 0: it came to a block of the program.
  [[nodiscard]] std::uint16_t what() const { return static_cast<std::uint16_t>(order); }
};

/// Where a thread is in the program.
class LanePosition {
 public:
  /// @param caller  a return address in the program
  /// @param frame   of the function that returns there
  void move(const void* caller, const void* frame) {
    const auto stack = reinterpret_cast<std::uintptr_t>(frame);
    if (begin_ == 0) begin_ = stack;
    constexpr std::uintptr_t kUnit = 16;
    const std::uint64_t depth = stack > begin_ ? 0 : (begin_ - stack) / kUnit;
    order_ = (0xffffU - depth) << 48U | (address_in_program(caller) & 0xffffffffU) << 16U;
  }
  [[nodiscard]] LaneEvent event(std::uint16_t what, std::int64_t offset) const {
    return {order_ | what, offset};
  }
  /// Goes on from where another thread of the same function is.
  void come_to(const LanePosition& other) { order_ = other.order_; }
  bool operator<(const LanePosition& other) const { return order_ < other.order_; }

  /// Nobody goes on from there before all have come.
  static LaneEvent at_barrier(std::uint16_t what) { return {~std::uint64_t{0xffff} | what, 0}; }

 private:
  std::uintptr_t begin_ = 0;  ///< the stack's when it was moved first
  std::uint64_t order_ = 0;
};

/// Where blocks of the program belong that do not lie there.
class CodeOrder {
 public:
  void learn(const std::vector<LaneEvent>& list) {
    for (std::size_t i = 1; i < list.size(); ++i) {
      if (list[i].what() != 0) continue;
      const std::uint64_t to = list[i].order >> kWhat;
      if (seen_.insert(to).second) blocks_.try_emplace(to, to);
      if (list[i - 1].order >> kWhat > to) find_detour(list, i);
    }
  }

  void apply(std::vector<LaneEvent>& list) const {
    if (!has_detours_) return;
    for (LaneEvent& event : list) {
      const std::uint64_t at = event.order >> kWhat;
      auto block = blocks_.upper_bound(at);
      if (block == blocks_.begin()) continue;
      --block;
      if (block->second != block->first) event.order = block->second << kWhat | event.what();
    }
  }

 private:
  static constexpr unsigned kWhat = 16;
  static constexpr unsigned kDepth = 32;

  // A thread has come back to a block. If it was there before, this is a loop. If it was only
  // before it, then it has gone round it, over blocks that belong in front of it.
  void find_detour(const std::vector<LaneEvent>& list, std::size_t end) {
    const std::uint64_t to = list[end].order >> kWhat;
    std::size_t begin = end;
    for (std::uint64_t at = to + 1; at > to;) {
      do {
        if (begin == 0 || list[begin - 1].order >> kWhat >> kDepth > to >> kDepth) return;
        at = list[--begin].order >> kWhat;
      } while (at >> kDepth < to >> kDepth);  // in a call
      if (at == to) return;
    }
    for (std::size_t i = begin + 1; i < end; ++i) {
      const std::uint64_t at = list[i].order >> kWhat;
      if (list[i].what() == 0 && at >> kDepth == to >> kDepth) blocks_[at] = to - 1;
    }
    has_detours_ = true;
  }

  std::map<std::uint64_t, std::uint64_t> blocks_;  ///< and where each belongs
  std::unordered_set<std::uint64_t> seen_;         ///< the same blocks
  bool has_detours_ = false;
};

/// Calls visit(threads, next) for each thing that threads did together; next[t] - 1 is its index in
/// the list of thread t. Goes on while visit returns true.
/// @param lists  of threads from `begin` to `end`
template <typename Visit>
void pair_lanes(const std::vector<std::vector<LaneEvent>>& lists, std::size_t begin,
                std::size_t end, Visit&& visit) {
  std::vector<std::size_t> next(end);
  std::vector<std::size_t> threads;
  for (;;) {
    std::uint64_t first = ~std::uint64_t{0};
    threads.clear();
    for (std::size_t thread = begin; thread < end; ++thread) {
      if (next[thread] == lists[thread].size()) continue;
      const std::uint64_t order = lists[thread][next[thread]].order;
      if (order > first) continue;
      if (order < first) threads.clear();
      first = order;
      threads.push_back(thread);
    }
    if (threads.empty()) return;
    for (const std::size_t thread : threads) ++next[thread];
    if (!visit(threads, next)) return;
  }
}

}  // namespace convlab::emulation
