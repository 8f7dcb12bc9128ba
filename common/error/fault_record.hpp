#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/error/enum_name.hpp"

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
  kStack,          ///< the host's stack overflowed
  kSystemCall,     ///< the sandbox refused system call number `element`
  kWarpSync,       ///< lanes of a warp read values of other lanes without __syncwarp()
  kSignal,         ///< another signal
  kHostPointer,    ///< a kernel got a pointer to memory of the host as argument `memory.argument`
  kBarrier,        ///< threads of a block met in different barriers, or wait for ever (`waiting`)
  kKernelTime,     ///< a kernel did not come to an end
  kWarp,           ///< a call that needs a whole warp was not made by all its lanes
  kMisaligned,     ///< a vector access at an address that is no multiple of its size
  kCopy,           ///< a copy, a fill or a free with pointers or a size that do not fit
  kArithmetic,     ///< an integer division by zero, a failed assert or a trap, in a kernel
  kUnsupported,    ///< the emulated device does not support a correct call
};

/// "exception", "out-of-memory", …
inline const char* to_string(FaultKind kind) {
  return enum_name(kind,
                   {"exception", "out-of-memory", "launch",       "device-memory", "device-pointer",
                    "outside",   "read-only",     "null",         "stack",         "system-call",
                    "warp-sync", "signal",        "host-pointer", "barrier",       "kernel-time",
                    "warp",      "misaligned",    "copy",         "arithmetic",    "unsupported"});
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

  friend bool operator==(const FaultMemory&, const FaultMemory&) = default;
};

/// Threads of a block that wait at one place.
struct FaultWait {
  int threads = 0;
  std::string call{};  ///< "__syncthreads"; empty for threads that have ended
  int line = 0;

  friend bool operator==(const FaultWait&, const FaultWait&) = default;
};

/// Why a stage gave no output. Fields that do not apply to a kind are empty.
struct FaultRecord {
  FaultKind kind = FaultKind::kException;
  std::string text{};          ///< for a person, one line without a full stop
  std::string kernel{};        ///< the kernel that ran
  std::string file{};          ///< where in the source, without its folder
  int line = 0;                ///< 0: unknown
  std::string allocated_at{};  ///< of kDevicePointer: "new-forward.cu:20"
  std::string other_place{};   ///< of kWarpSync, the line that wrote: "new-forward.cu:31"
  std::string call{};          ///< the CUDA call that reported an error: "cudaMalloc"
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
  unsigned long long code = 0;  ///< of the host: the instruction, from the program's beginning
};

namespace detail {

struct NotedFault {
  std::mutex mutex;
  std::optional<FaultRecord> record;
};

inline NotedFault& noted_fault() {
  // Never destroyed: a device may fail during the destruction of static objects.
  static auto* const instance = new NotedFault;
  return *instance;
}

}  // namespace detail

/// On a GPU: the last CUDA call of a given file that failed (common/given_file/noted_calls.cu).
inline std::optional<FaultRecord>& failed_call() {
  static std::optional<FaultRecord> record;
  return record;
}

/// Returns what an emulated device with warps in lockstep found since the last call: a record of
/// kWarpSync. Its text lists the places for CONVLAB_EMU_LOCKSTEP. Null in other programs.
using WarpSyncSource = std::optional<FaultRecord> (*)();
inline WarpSyncSource& warp_sync_source() {
  static WarpSyncSource source = nullptr;
  return source;
}

/// Stores a device fault that no exception describes. Only the latest is kept until it is taken.
inline void note_fault(FaultRecord record) {
  detail::NotedFault& noted = detail::noted_fault();
  const std::lock_guard<std::mutex> lock(noted.mutex);
  noted.record = std::move(record);
}

/// Takes the fault that was noted last.
inline std::optional<FaultRecord> take_noted_fault() {
  detail::NotedFault& noted = detail::noted_fault();
  const std::lock_guard<std::mutex> lock(noted.mutex);
  return std::exchange(noted.record, std::nullopt);
}

}  // namespace convlab
