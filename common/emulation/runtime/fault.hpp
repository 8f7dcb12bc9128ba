#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/fault_record.hpp"
#include "common/emulation/include/convlab_emulation/collective.hpp"
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
  bool is_note = false;        ///< doubtful, but the kernel went on
  std::string what{};          ///< the first line of `text`: what happened
  bool has_block = false;      ///< whether it happened in `fault.block`
  ReportPlace at{};            ///< the line that did it
  ReportPlace launched_at{};   ///< the launch of the kernel
  ReportPlace allocated_at{};  ///< the call that made the memory
  std::optional<ReportMemory> memory{};
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

/// A failed kernel as the API and the user see it.
struct KernelFailure {
  KernelFault error = KernelFault::kLaunchFailure;
  EmulationReport report;
};

/// Ends the running block with a fault of the whole block: no thread of it is named.
[[noreturn]] void fail_block(FaultKind kind, KernelFault error, const char* reason);

/// fail_kernel (collective.hpp) for a fault of a certain kind.
[[noreturn, gnu::format(printf, 4, 5)]] void fail_thread(FaultKind kind, KernelFault error,
                                                         CallSite site, const char* format, ...);

}  // namespace convlab::emulation
