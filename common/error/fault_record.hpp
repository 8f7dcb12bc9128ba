#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "common/error/enum_name.hpp"

namespace convlab {

/// What kind of fault ended a stage. A finding of the grader follows from it, never from wording.
enum class FaultKind {
  kException,      ///< an exception that is none of these
  kOutOfMemory,    ///< of the host or of the device
  kLaunch,         ///< a launch with sizes that the device refuses
  kDeviceMemory,   ///< a kernel or a copy touched device memory that is not its own
  kDevicePointer,  ///< the host used a pointer to device memory
  kOutside,        ///< the host touched memory beside `array`
  kReadOnly,       ///< the host wrote to `array`, which only the grader writes
  kNull,           ///< the host followed a null pointer
  kStack,          ///< the host's stack overflowed
  kSystemCall,     ///< the sandbox refused system call number `element`
  kWarpSync,       ///< lanes of a warp read what others wrote, without __syncwarp()
  kSignal,         ///< another signal
};

/// "exception", "out-of-memory", …
inline const char* to_string(FaultKind kind) {
  return enum_name(
      kind, {"exception", "out-of-memory", "launch", "device-memory", "device-pointer", "outside",
             "read-only", "null", "stack", "system-call", "warp-sync", "signal"});
}

/// Why a stage gave no output. Fields that say nothing about a kind are empty.
struct FaultRecord {
  FaultKind kind = FaultKind::kException;
  std::string text{};          ///< for a person, one line without a full stop
  std::string kernel{};        ///< the kernel that ran
  std::string file{};          ///< where in the source, without its folder
  int line = 0;                ///< 0: nobody knows
  std::string allocated_at{};  ///< of kDevicePointer: "new-forward.cu:20"
  std::string other_place{};   ///< of kWarpSync, the line that wrote: "new-forward.cu:31"
  std::string call{};          ///< the CUDA call that reported an error: "cudaMalloc"
  std::array<unsigned, 3> block{};
  std::array<unsigned, 3> thread{};
  std::string array{};    ///< "input", "weights" or "output"
  long long element = 0;  ///< the index into `array`, or the number of a system call
};

namespace detail {

struct NotedFault {
  std::mutex mutex;
  std::optional<FaultRecord> record;
};

inline NotedFault& noted_fault() {
  // Never destroyed: a device may fail while static objects go.
  static auto* const instance = new NotedFault;
  return *instance;
}

}  // namespace detail

/// On a GPU: the last CUDA call of a given file that failed (common/given_file/noted_calls.cu).
inline std::optional<FaultRecord>& failed_call() {
  static std::optional<FaultRecord> record;
  return record;
}

/// What an emulated device that runs warps in lockstep found since it was asked last: a record of
/// kWarpSync whose text is the list of places for CONVLAB_EMU_LOCKSTEP. Null for other programs.
using WarpSyncSource = std::optional<FaultRecord> (*)();
inline WarpSyncSource& warp_sync_source() {
  static WarpSyncSource source = nullptr;
  return source;
}

/// For a device that meets a fault which no exception describes: the latest is kept until somebody
/// takes it.
inline void note_fault(FaultRecord record) {
  detail::NotedFault& noted = detail::noted_fault();
  const std::lock_guard<std::mutex> lock(noted.mutex);
  noted.record = std::move(record);
}

/// The fault that was noted last and not taken yet.
inline std::optional<FaultRecord> take_noted_fault() {
  detail::NotedFault& noted = detail::noted_fault();
  const std::lock_guard<std::mutex> lock(noted.mutex);
  return std::exchange(noted.record, std::nullopt);
}

}  // namespace convlab
