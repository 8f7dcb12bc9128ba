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
// What the emulated device found wrong, as a record. The text for a person is made of it, and the
// FaultRecord (common/base/fault_record.hpp) that a program hands to the grader.

/// A place in a source; none if `file` is empty.
struct ReportPlace {
  std::string file{};
  std::uint32_t line = 0;
  std::uint32_t column = 0;  ///< 0 where it is not known
  std::string function{};    ///< empty where it is not known
};

/// An address, told by the piece of memory that it lies in or next to.
struct ReportMemory {
  std::string name{};  ///< "allocation 3 of 784 bytes at 0x7e…", "the shared variable tile …"
  std::int64_t bytes = 0;      ///< size of that memory
  std::int64_t offset = 0;     ///< of the address, from the first byte; may be negative or beyond
  std::string variable{};      ///< of shared memory: the variable; "dynamic" for the dynamic part
  std::int64_t row_bytes = 0;  ///< of a variable of several dimensions: the size of one row
  int argument = 0;      ///< of an allocation: its position among the kernel's arguments, from 1
  std::string kernel{};  ///< the kernel that got it so
  bool freed = false;    ///< the memory was freed before
  std::uint64_t allocation = 0;  ///< its number, from 1
};

/// One report. What does not apply is empty.
struct EmulationReport {
  FaultKind fault = FaultKind::kCopy;
  bool is_note = false;   ///< doubtful, but the kernel went on
  std::string what{};     ///< the first line of `text`: what happened
  std::string problem{};  ///< the same without kernel and places, where `what` names them
  std::string kernel{};   ///< its name as the launch writes it
  std::optional<uint3> block{};
  std::optional<uint3> thread{};
  ReportPlace at{};            ///< the line that did it
  ReportPlace launched_at{};   ///< the launch of the kernel
  ReportPlace allocated_at{};  ///< the call that made the memory
  std::optional<ReportMemory> memory{};
  bool writes = false;             ///< of kDeviceMemory: the access is a write
  int host_argument = 0;           ///< the kernel's argument that points to host memory, from 1
  uint3 grid{};                    ///< of the launch
  uint3 block_size{};              ///< of the launch
  std::vector<FaultWait> waits{};  ///< of a deadlock or a divergent barrier
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
