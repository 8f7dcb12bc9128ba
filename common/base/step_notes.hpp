#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/enum_name.hpp"
#include "common/base/fault_record.hpp"

namespace convlab {

/// What threads do in one step of a block.
enum class StepKind {
  kRead,
  kWrite,
  kAtomic,    ///< reads and writes in one operation
  kBarrier,   ///< all threads of the block that have not ended meet
  kMeeting,   ///< lanes of warps meet: __syncwarp, a shuffle
  kProducts,  ///< warps multiply on tensor cores
};

/// "read", "write", "atomic", "barrier", "meeting", "products".
inline const char* to_string(StepKind kind) {
  return enum_name(kind, {"read", "write", "atomic", "barrier", "meeting", "products"});
}

/// A piece of memory that the threads of a block touched.
struct StepArray {
  std::string space{};   ///< "global", "shared" or "constant"
  FaultMemory memory{};  ///< which one; without an offset
  int begin = 0;         ///< of its address, modulo 128: sectors and banks follow from it

  friend bool operator==(const StepArray&, const StepArray&) = default;
};

/// A place in the source.
struct StepPlace {
  std::string file{};  ///< without its folder
  int line = 0;        ///< 0: unknown
  std::string call{};  ///< of a barrier or a meeting: "__syncthreads"

  friend bool operator==(const StepPlace&, const StepPlace&) = default;
};

/// What threads of a block do together at one place.
struct BlockStep {
  StepKind kind = StepKind::kRead;
  int place = 0;
  int array = -1;  ///< -1: none
  int bytes = 0;   ///< of one thread's access
  /// Four numbers for each run of threads: the first thread, how many, the first one's offset in
  /// bytes from the array's begin, and by how much the offset grows from thread to thread.
  std::vector<std::int64_t> threads{};
  /// Three numbers for each warp that accesses memory: its number, AccessNote::parts and conflicts.
  std::vector<int> requests{};

  friend bool operator==(const BlockStep&, const BlockStep&) = default;
};

/// What one block of a kernel did, step by step. Threads that do the same at the same place of the
/// program, in the same turn of its loops, do it in one step.
struct StepNotes {
  std::string kernel{};
  std::string file{};  ///< of the launch
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block_size{};
  std::array<unsigned, 3> block{};
  std::vector<StepArray> arrays{};
  std::vector<StepPlace> places{};
  std::vector<BlockStep> steps{};
  std::int64_t first = 0;  ///< steps before these
  bool is_cut = false;     ///< more steps follow
  bool is_over = false;    ///< the block came to its end

  friend bool operator==(const StepNotes&, const StepNotes&) = default;
};

/// Returns what the program has recorded since the last call
/// (common/emulation/trace/step_recorder). Null in programs that do not record.
using StepSource = StepNotes (*)();
inline StepSource& step_source() {
  static StepSource source = nullptr;
  return source;
}

}  // namespace convlab
