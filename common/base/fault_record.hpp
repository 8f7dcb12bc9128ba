#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/enum_name.hpp"

namespace convlab {

/// What kind of fault ended a stage. A finding of the grader follows from it, never from wording.
enum class FaultKind {
  kException,      ///< any other exception
  kOutOfMemory,    ///< of the host or of the device
  kLaunch,         ///< a launch with sizes that the device refuses
  kDeviceMemory,   ///< a kernel or a copy accessed device memory outside its allocations
  kDevicePointer,  ///< the host used a pointer to device memory
  kOutside,        ///< the host accessed memory outside `array`
  kReadOnly,       ///< the host wrote to `array`, which only the grader writes
  kNull,           ///< the host followed a null pointer
  kKernelNull,     ///< a kernel followed a null pointer
  kStack,          ///< the host's stack overflowed
  kSystemCall,     ///< the sandbox refused system call number `element`
  kRace,           ///< nothing orders two accesses of different threads: `race`
  kSignal,         ///< another signal
  kHostPointer,    ///< a kernel got a pointer to memory of the host as argument `memory.argument`
  kBarrier,        ///< threads of a block met in different barriers, or wait for ever (`waiting`)
  kKernelTime,     ///< a kernel did not come to an end
  kSlowKernel,     ///< the time of a kernel was up while its blocks went on ending
  kWarp,           ///< a call that needs a whole warp was not made by all its lanes
  kLeading,        ///< a row of a fragment does not fit into the leading dimension
  kMisaligned,     ///< a vector access at an address that is no multiple of its size
  kAddressSpace,   ///< an instruction for shared memory got another address
  kCopySize,       ///< an asynchronous copy of so many bytes is none that a GPU makes
  kCopy,           ///< a copy, a fill or a free with pointers or a size that do not fit
  kCopySymbol,     ///< of a device variable, by its name, without the call that knows names
  kCopyFreed,      ///< of memory that was freed before
  kCopyBeyond,     ///< more bytes than the memory of the device has
  kCopyBothHost,   ///< between two arrays of the host, though the direction names the device
  kFreeHost,       ///< cudaFree of a pointer that no allocation of the device has given
  kCaptured,       ///< a call that a capture of a stream forbids
  kHostThread,     ///< a thread of the host ran while a copy used device memory
  kArithmetic,     ///< an integer division by zero, a failed assert or a trap, in a kernel
  kOverflow,       ///< a number that its type cannot hold; `follows` is what came of it, if known
  kUnsupported,    ///< the emulated device does not support a correct call
};

inline const char* to_string(FaultKind kind) {
  return enum_name(
      kind, {"exception",     "out-of-memory",  "launch",     "device-memory", "device-pointer",
             "outside",       "read-only",      "null",       "kernel-null",   "stack",
             "system-call",   "race",           "signal",     "host-pointer",  "barrier",
             "kernel-time",   "slow-kernel",    "warp",       "leading",       "misaligned",
             "address-space", "copy-size",      "copy",       "copy-symbol",   "copy-freed",
             "copy-beyond",   "copy-both-host", "free-host",  "captured",      "host-thread",
             "arithmetic",    "overflow",       "unsupported"});
}

/// The device memory that a fault concerns: an allocation, or shared memory of a block.
struct FaultMemory {
  std::string variable{};   ///< of shared memory: the variable's name; "dynamic" for dynamic memory
  int argument = 0;         ///< of an allocation: position among the kernel's arguments, from 1
  bool freed = false;       ///< it was freed before
  long long bytes = 0;      ///< its size; 0: the memory is unknown
  long long offset = 0;     ///< of the access, from its first byte; may be negative or beyond
  long long row_bytes = 0;  ///< of an array of several dimensions: the step of its first index
  std::string allocated_at{};  ///< "conv_forward.cu:52"
};

/// Threads of a block that wait at one place.
struct FaultWait {
  int threads = 0;
  std::string call{};  ///< "__syncthreads"; empty for threads that have ended
  int line = 0;
};

/// How far apart the threads of a race are: what would order them depends on it. kTeam: of an
/// OpenMP region on the CPU.
enum class RaceScope { kWarp, kBlock, kGrid, kStreams, kTeam };

inline const char* to_string(RaceScope scope) {
  return enum_name(scope, {"warp", "block", "grid", "streams", "team"});
}

/// One of the two accesses of a race.
struct RaceSide {
  static constexpr unsigned kFirstTask = 1U << 16;  ///< as a number of a thread: a task of OpenMP
  std::string file{};                               ///< without its folder
  int line = 0;
  std::array<unsigned, 3> block{};
  std::array<unsigned, 3> thread{};
  bool writes = false;
  bool atomic = false;
  bool by_warp = false;         ///< by the warp that begins with `thread`: a fragment
  unsigned long long code = 0;  ///< of the CPU: the instruction, from the program's beginning
  std::string call{};           ///< "cudaMemsetAsync": no thread, but a copy or a fill
};

/// Two accesses to one element, at least one of them a write, that nothing orders; in the order in
/// which a thread comes to the two lines.
struct RaceFacts {
  RaceScope scope = RaceScope::kWarp;
  RaceSide first{};
  RaceSide second{};
  bool updates = false;   ///< both threads read the element, change it and store it
  std::string between{};  ///< where no barrier of the block was met: "__syncwarp", of a warp
  int between_line = 0;
  /// Where lanes must meet so that they run as most GPUs run them, for CONVLAB_EMU_TRACE; empty if
  /// that mends nothing.
  std::string meeting_places{};
};

/// Why a stage gave no output. Fields that do not apply to a kind are empty.
struct FaultRecord {
  FaultKind kind = FaultKind::kException;
  std::string text{};          ///< for a person, one line without a full stop
  std::string kernel{};        ///< the kernel that ran
  std::string file{};          ///< where in the source, without its folder
  int line = 0;                ///< 0: unknown
  std::string allocated_at{};  ///< of kDevicePointer: "new-forward.cu:20"
  std::string call{};          ///< the CUDA call that reported an error: "cudaMalloc(&x, 4)"
  std::array<unsigned, 3> block{};
  std::array<unsigned, 3> thread{};
  bool has_thread = false;  ///< whether one thread did it; otherwise `thread` says nothing
  bool writes = false;      ///< of kDeviceMemory: it is a write
  FaultMemory memory{};
  int launch_line = 0;                   ///< of the kernel, in `file`; 0: unknown
  std::array<unsigned, 3> grid{};        ///< of the launch
  std::array<unsigned, 3> block_size{};  ///< of the launch
  std::vector<FaultWait> waiting{};      ///< of kBarrier
  std::string array{};                   ///< "input", "weights" or "output"
  long long element = 0;                 ///< the index into `array`, or the number of a system call
  std::optional<RaceFacts> race{};       ///< of kRace
  std::string follows{};                 ///< of kOverflow: how the same thread, or the host, failed
  unsigned long long code = 0;  ///< of the host: the instruction, from the program's beginning
};

/// The text of an exception: std::async or std::thread got no thread.
inline constexpr const char* kNoThread = "it could not start another thread";
inline constexpr const char* kNotJoined =
    "a std::thread ended its life before join() or detach() was called";

/// Returns the race that an emulated device has found since the last call. Null in programs that
/// were not compiled for it.
using RaceSource = std::optional<FaultRecord> (*)();
inline RaceSource race_source = nullptr;

/// Replaces the device fault that no exception describes and that was noted last.
inline std::optional<FaultRecord> exchange_noted_fault(std::optional<FaultRecord> next) {
  static std::mutex mutex;
  // Never destroyed: a device may fail during the destruction of static objects.
  static auto* const noted = new std::optional<FaultRecord>;
  const std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(*noted, std::move(next));
}
inline std::optional<FaultRecord> take_noted_fault() {
  return exchange_noted_fault({});
}

}  // namespace convlab
