#pragma once

// Runs the lanes of a warp in step, to find out whether a kernel counts on that.
//
// Idea     Before GPUs of compute capability 7.0 the 32 lanes of a warp executed each instruction
//          together, and today they mostly do. Code that lets a lane read what another lane wrote,
//          without __syncwarp(), is therefore right on a GPU and wrong here, where a lane runs on
//          until it must wait. In lockstep a lane also waits before each access to shared memory,
//          until every lane of its warp has come to one: those at the smallest address of the
//          program go on together. So a write of all lanes precedes the read that follows it.
// How      A file is compiled once more with -fsanitize=thread, and the calls that the compiler
//          puts before each access come here instead of to ThreadSanitizer, which is not linked.
// Cost     Two switches of threads for each access to shared memory: for small batches only. The
//          places where lanes meet without a barrier are told; a run that stops only there costs
//          a call and a comparison for each access.
// Use      CONVLAB_EMU_LOCKSTEP=all, or a list of places: 1a2b,3c4d; count: no lane waits, and the
//          accesses are counted (access_counts.hpp)

#include <cstdint>
#include <string>
#include <vector>

#include "common/emulation/runtime/emulation_report.hpp"

namespace convlab::emulation {

/// Where lanes of one warp touched the same word of shared memory, one of them to write, with no
/// barrier between. Return addresses, from the start of the program.
struct LaneConflict {
  std::uintptr_t first = 0;
  std::uintptr_t second = 0;
  bool second_reads = false;

  friend auto operator<=>(const LaneConflict&, const LaneConflict&) = default;
};

/// The conflicts that were met since the last call.
std::vector<LaneConflict> take_lane_conflicts();

/// The line of a source that a place, a return address from the start of the program, belongs to.
ReportPlace source_of_place(std::uintptr_t place);

/// The places at which lanes must wait for each other, for CONVLAB_EMU_LOCKSTEP.
std::string lockstep_places(const std::vector<LaneConflict>& conflicts);

}  // namespace convlab::emulation
