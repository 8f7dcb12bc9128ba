#pragma once

#include <optional>

#include "common/emulation/include/convlab_emulation/kernel_call.hpp"
#include "common/emulation/runtime/report.hpp"

namespace convlab::emulation {

// The border between kernels and the host, where numbers are withheld (activity.hpp).
//
// Idea     A launch runs in a copy of the process, made by fork. It shares device memory with the
//          host, and nothing else: what a kernel writes elsewhere, by whatever function, is the
//          copy's own and ends with it. The copy's only system calls are those that its threads
//          need. The host's process never opens device memory while kernels run.
// Back     come, in memory that the host cannot open: variables of the device and memory that both
//          sides use (TrueWords), the failure, and what is noted of launches and accesses. The last
//          stays there until the stage is done and somebody asks for it.
// Cost     about 1 ms of processor time; the same launch again, with other arguments and nothing
//          else between, takes a copy that has stayed 0.05 ms

/// Whether launches run apart now.
bool runs_apart();

/// Whether this process is such a copy.
bool is_copy();

/// Runs a kernel in a process of its own. @return its failure
std::optional<EmulationReport> run_apart(const KernelCall& call);

/// Ends the copy that waits for another launch, if there is one.
void end_copy();

/// Runs it in this process: device memory must be open, and words true.
/// @return its failure, or what it has damaged outside of allocations
std::optional<EmulationReport> run_here(const KernelCall& call);

/// Fetches what was noted of kernels that ran apart; their notes are then those of this process.
void fetch_notes();

}  // namespace convlab::emulation
