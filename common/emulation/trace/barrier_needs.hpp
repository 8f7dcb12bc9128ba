#pragma once

// Which accesses to shared memory each barrier keeps apart (access_counts.hpp).

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "common/emulation/trace/places.hpp"

namespace convlab::emulation {

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
