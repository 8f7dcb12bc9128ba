#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/fault_record.hpp"
#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/kernel_call.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

namespace convlab::emulation {
// What the emulated device found wrong: the FaultRecord (common/base/fault_record.hpp) that a
// program hands to the grader, and what the text for a person says beyond it.

/// A place in a source; none if `file` is empty.
struct ReportPlace {
  std::string file{};
  std::uint32_t line = 0;
  std::uint32_t column = 0;  ///< 0 where it is not known
  std::string function{};    ///< empty where it is not known
};

/// An address, told by the piece of memory that it lies in or next to.
struct ReportMemory : FaultMemory {
  std::string name{};    ///< "allocation 3 of 784 bytes at 0x7e…", "the shared variable tile …"
  std::string kernel{};  ///< the kernel that got it as `argument`
  std::uint64_t allocation = 0;  ///< its number, from 1
};

/// One report. What does not apply is empty.
struct EmulationReport {
  /// Without the places below. Its text: only where `what` names kernel and places besides.
  FaultRecord fault{.kind = FaultKind::kCopy};
  KernelFault error = KernelFault::kLaunchFailure;  ///< of a failed kernel
  bool is_note = false;                             ///< doubtful, but the kernel went on
  std::string what{};                               ///< the first line of `text`: what happened
  bool has_block = false;                           ///< whether it happened in `fault.block`
  std::vector<void*> frames{};                      ///< the call chain to it, until `at` is known
  ReportPlace at{};                                 ///< the line that did it
  ReportPlace launched_at{};                        ///< the launch of the kernel
  ReportPlace allocated_at{};                       ///< the call that made the memory
  std::optional<ReportMemory> memory{};
  std::string more{};  ///< the last lines of `text`
  std::string text{};  ///< all lines for a person, as printed; without "emulated device: "
};

/// Why a kernel failed. Signal handlers fill it in, so they leave `message` empty; report.hpp finds
/// the words afterwards.
struct Fault {
  enum class State {
    kNone,
    kFailed,
    kCancelled,  ///< another block of the grid failed
  };

  State state = State::kNone;
  FaultKind kind = FaultKind::kDeviceMemory;
  KernelFault error = KernelFault::kLaunchFailure;
  std::string message;  ///< what happened; empty: `reason`, or as `kind` says
  const char* reason = nullptr;
  std::optional<ReportMemory> memory;  ///< that `message` is about
  CallSite site;
  bool has_thread = false;
  uint3 thread = {};
  const void* address = nullptr;      ///< of a stray access
  bool writes = false;                ///< the stray access is a write
  std::array<void*, 32> frames = {};  ///< return addresses, innermost first
  int frame_count = 0;
};

/// Ends the running block with a fault of the whole block: no thread of it is named.
[[noreturn]] void fail_block(FaultKind kind, KernelFault error, const char* reason);

/// fail_kernel (collective.hpp) for a fault of a certain kind.
[[noreturn, gnu::format(printf, 4, 5)]] void fail_thread(FaultKind kind, KernelFault error,
                                                         CallSite site, const char* format, ...);
/// Ends a kernel that has thrown an exception. (A GPU knows none.)
[[noreturn]] void fail_with_exception(std::exception_ptr thrown);

class BlockRunner;

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
EmulationReport describe_fault(BlockRunner& runner);

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

/// Hands the report to the sink, and notes it for the grader (exchange_noted_fault). Makes the text
/// of the other members if it is empty.
void send_report(EmulationReport report);

/// Notes a sum or a product that its type cannot hold. If its thread leaves an array later, or, of
/// the host, if a later call fails, it is the fault; else if nothing fails.
void note_overflow(const ReportPlace& at, const std::string& what);

/// Tells once of a place that nvcc 13 refuses and emulation runs.
void note_refused_by_nvcc(const ReportPlace& at, const std::string& why);

/// The innermost place of a call chain that lies in the user's own source. Asks addr2line;
/// empty where that is missing or the build has no line numbers.
/// @param frames  the faulting instruction, then return addresses
ReportPlace source_place(void* const* frames, int count);

}  // namespace convlab::emulation
