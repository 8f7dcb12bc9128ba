#pragma once

// What a file that is compiled for lockstep calls in place of the barriers, so that they are
// counted. collective.hpp includes this where CONVLAB_LOCKSTEP is defined.

#include "common/emulation/include/convlab_emulation/collective.hpp"

namespace convlab::emulation {

void block_barrier_in_step(const char* name, bool predicate, CallSite site);
void warp_collective_in_step(const WarpOperation& operation, std::uint32_t mask, const void* input,
                             void* output, CallSite site);

}  // namespace convlab::emulation
