#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

namespace convlab::emulation {
// What the emulated device found wrong, as a record. The text for a person is made of it, and the
// FaultRecord (common/base/fault_record.hpp) that a program hands to the grader.

enum class EmulationFault : std::uint8_t {
  kOutsideAccess,        ///< of a kernel: past an array, freed memory, a null or host pointer
  kMisaligned,           ///< a vector access that is not aligned to its size
  kStackOverflow,        ///< of a thread of a kernel
  kDivision,             ///< an integer division by zero, or of the least integer by -1
  kTrap,                 ///< __trap() or an illegal instruction
  kAssertion,            ///< assert() in a kernel
  kException,            ///< left a kernel
  kDeadlock,             ///< threads wait for others that will never come
  kDivergentBarrier,     ///< threads of one block met in different barriers
  kTimeLimit,            ///< CONVLAB_EMU_TIMEOUT
  kTooSlow,              ///< the same, while blocks went on ending
  kWarpMask,             ///< a mask without its caller, a lane that takes no part
  kDeviceFunction,       ///< other misuse of a device function
  kLaunch,               ///< a configuration that a GPU refuses
  kDevicePointerOnHost,  ///< the host used device memory
  kCall,                 ///< misuse of the runtime API: a copy, a free, a handle
  kUnsupported,          ///< what cannot be emulated
  kFork,                 ///< the device was used after fork()
};

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

/// Threads of a block that wait in one call.
struct ReportWait {
  int threads = 0;
  std::string call{};  ///< empty for threads that have ended
  ReportPlace at{};
};

/// One report. What does not apply is empty.
struct EmulationReport {
  EmulationFault fault = EmulationFault::kCall;
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
  bool writes = false;              ///< of kOutsideAccess: the access is a write
  int host_argument = 0;            ///< the kernel's argument that points to host memory, from 1
  uint3 grid{};                     ///< of the launch
  uint3 block_size{};               ///< of the launch
  std::vector<ReportWait> waits{};  ///< of a deadlock or a divergent barrier
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
  EmulationFault kind = EmulationFault::kOutsideAccess;
  KernelFault error = KernelFault::kLaunchFailure;
  std::string message;                 ///< what happened; empty: the report describes `kind`
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
[[noreturn]] void fail_block(EmulationFault kind, KernelFault error);

/// fail_kernel (collective.hpp) for a fault of a certain kind.
[[noreturn, gnu::format(printf, 4, 5)]] void fail_thread(EmulationFault kind, KernelFault error,
                                                         CallSite site, const char* format, ...);

}  // namespace convlab::emulation
