#pragma once

#include <cstdint>
#include <cstring>

#include "common/emulation/include/convlab_emulation/call_site.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"
#include "common/emulation/runtime/context.hpp"

namespace convlab::emulation {

/// One thread of the running block. Small: a barrier visits each of them, and with their stacks
/// they should fit the first-level cache.
struct alignas(32) EmulatedThread {
  enum class State : std::uint8_t {
    kFresh,
    kRunning,
    kReady,
    kAtBarrier,       ///< also after the barrier has opened, see BlockBarrier::settle_states
    kAtOtherBarrier,  ///< a divergent barrier: not the one that others wait in
    kInWarp,
    kConverging,
    kAsleep,  ///< until another thread wakes it
    kExited
  };

  uint3 index = {};
  std::uint16_t rank = 0;
  State state = State::kExited;
  Context context;  ///< valid once it has waited: then it has a stack of its own
};
static_assert(sizeof(EmulatedThread) == 32);

/// Where a thread waits, or waited last.
struct Wait {
  const char* call = "";
  CallSite site;
};

/// As ==, and also true for two copies of a file's name.
inline bool same_place(const CallSite& a, const CallSite& b) {
  return a.position() == b.position() && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

}  // namespace convlab::emulation
