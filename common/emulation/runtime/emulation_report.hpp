#pragma once

// What the emulated device found wrong, as a record. The text for a person is made of it, and the
// FaultRecord (common/error/fault_record.hpp) that a program hands to the grader.

#include <cstdint>
#include <optional>
#include <string>

namespace convlab::emulation {

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
  std::int64_t bytes = 0;   ///< size of that memory
  std::int64_t offset = 0;  ///< of the address, from the first byte; may be negative or beyond
};

struct ReportIndex {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t z = 0;
};

/// One report. What does not apply is empty.
struct EmulationReport {
  EmulationFault fault = EmulationFault::kCall;
  bool is_note = false;  ///< doubtful, but the kernel went on
  std::string what{};    ///< the first line of `text`: what happened
  std::string kernel{};  ///< its name as the launch writes it
  std::optional<ReportIndex> block{};
  std::optional<ReportIndex> thread{};
  ReportPlace at{};            ///< the line that did it
  ReportPlace launched_at{};   ///< the launch of the kernel
  ReportPlace allocated_at{};  ///< the call that made the memory
  std::optional<ReportMemory> memory{};
  std::string text{};  ///< all lines for a person, as printed; without "emulated device: "
};

}  // namespace convlab::emulation
