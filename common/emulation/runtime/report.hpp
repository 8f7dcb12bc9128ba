#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "common/base/fault_record.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/fault.hpp"

namespace convlab::emulation {

std::array<unsigned, 3> array_of(const uint3& index);

/// "(3,0,1)"
std::string coordinates(const std::array<unsigned, 3>& index);
inline std::string coordinates(const uint3& index) {
  return coordinates(array_of(index));
}

/// A report with what it says of every launch.
EmulationReport report_about(const KernelCall& call, FaultKind fault);

/// The report about a failed block: what happened, where (kernel, block, thread, file:line), and
/// where the threads waited. Call it on the worker, after BlockRunner::run returned false.
EmulationReport describe_fault(const BlockRunner& runner);

/// Says how far a grid came within its time limit; of a slow one nothing else, for it hangs
/// nowhere.
void tell_blocks(EmulationReport& report, std::uint64_t begun, std::uint64_t blocks, bool is_slow);

/// A path without its folder: submissions are compiled as copies in folders of the grader.
std::string name_of(const std::string& path);

ReportPlace place_of(const CallSite& site);

/// The part of it that the grader explains. `kernel` is the one that the report is about.
FaultMemory fault_memory(const ReportMemory& memory, const std::string& kernel);

/// "4 bytes past the end of allocation 3 of 1024 bytes at 0x…"
std::string text_of(const ReportMemory& memory);

/// Receives every report of the emulated device. Without a sink, reports go to standard error.
using ReportSink = std::function<void(const EmulationReport& report)>;

/// Replaces the sink and returns the former one. An empty sink means standard error.
ReportSink set_report_sink(ReportSink sink);

/// Hands the report to the sink, and notes it for the grader (note_fault). Makes the text of the
/// other members if it is empty.
void send_report(EmulationReport report);

/// The innermost place of a call chain that lies in the user's own source. Asks addr2line;
/// empty where that is missing or the build has no line numbers.
/// @param frames  the faulting instruction, then return addresses
ReportPlace source_place(void* const* frames, int count);

}  // namespace convlab::emulation
