#pragma once

// Which accesses of a block's threads belong together.
//
// Idea     Between two barriers each thread has a list of what it did and where. Threads with equal
//          lists do everything together. Two different lists are aligned so that as much as
//          possible coincides (the longest common subsequence): lanes that leave a loop earlier, or
//          skip a branch, meet the others again behind it, as on a GPU.
// Cost     The product of the lengths of two different lists, without what they begin and end with
//          in common. Where that is too much, only beginning and end join the others.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/step_notes.hpp"
#include "common/emulation/trace/places.hpp"

namespace convlab::emulation {

/// What a thread does, without the element that it touches.
struct StepToken {
  Place place = 0;
  StepKind kind = StepKind::kRead;
  std::int16_t array = -1;
  std::uint16_t bytes = 0;

  friend auto operator<=>(const StepToken&, const StepToken&) = default;
};

struct ThreadEvent {
  StepToken token{};
  std::int64_t offset = 0;
};

struct PairedStep {
  StepToken token{};
  struct Part {
    int thread;
    std::int64_t offset;
  };
  std::vector<Part> parts{};  ///< in the order of threads
};

/// @param threads  what each thread did, in its order
/// @param most     no more steps than these
std::vector<PairedStep> pair_steps(const std::vector<std::vector<ThreadEvent>>& threads,
                                   std::size_t most);

}  // namespace convlab::emulation
