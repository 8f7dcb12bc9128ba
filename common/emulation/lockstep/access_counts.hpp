#pragma once

// Counts what the warps of a kernel ask of each kind of memory, and what each barrier is for.
//
// Idea     The lanes of a warp belong together by the place in the program and by how often a lane
//          has come to it: the third load in line 44 of all 32 lanes is one request. Nobody waits.
// Barrier  Each word of shared memory remembers who touched it last and how many barriers that
//          thread had passed. If another thread touches it exactly one barrier later, and one of
//          the two writes, that barrier keeps them apart.
// Use      CONVLAB_EMU_LOCKSTEP=count, with CONVLAB_EMU_THREADS=1, in a file compiled for lockstep
// Source   CUDA C++ Programming Guide, "Device Memory Accesses": sectors of 32 bytes, 32 banks of 4
//          bytes, one word of constant memory for a warp at a time.

#include <cstddef>
#include <cstdint>

#include "common/emulation/include/convlab_emulation/call_site.hpp"

namespace convlab::emulation {

/// Who touched a word of shared memory last.
struct Touch {
  std::uintptr_t place = 0;
  int thread = -1;
  std::uint32_t barriers = 0;  ///< that the thread had passed
};

/// Whether this process counts.
bool counts_accesses();

/// An access of the running thread. @param place  the return address, from the program's start
void count_access(const void* address, std::size_t bytes, bool writes, std::uintptr_t place);

/// The running thread comes to a barrier of its block.
void count_barrier(const CallSite& site);

}  // namespace convlab::emulation
