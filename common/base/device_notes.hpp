#pragma once

// What a device, or what stands for it, notes of a run for the grader: its transfers and launches,
// the accesses of its warps, the steps of a block.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/enum_name.hpp"
#include "common/base/fault_record.hpp"

namespace convlab {

/// An allocation of device memory, or a copy.
struct DeviceTransfer {
  std::string what{};  ///< "allocation", "host to device", "device to host", …
  std::int64_t bytes = 0;
};

/// A launch of a kernel.
struct DeviceLaunch {
  std::string kernel{};
  std::string file{};  ///< without its folder
  int line = 0;
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  std::uint64_t code = 0;  ///< tells apart kernels that one template makes; 0: unknown
  int early = 0;           ///< threads of one block that had ended when the others met in a barrier
  int barrier_line = 0;    ///< of that barrier
  int absent_line = 0;     ///< of a shuffle that took the value of a lane which was not there
};

/// Output elements that were never written, or were computed from unwritten memory.
struct PoisonedOutput {
  std::int64_t never_written = 0;  ///< no thread stored anything there
  std::int64_t computed = 0;
  std::string kernel{};  ///< the last one that got `memory`
  FaultMemory memory{};  ///< what the first element of the larger group was computed from
};

/// The requests of a program to its device in one run of a stage; only an emulated device knows.
struct DeviceNotes {
  static constexpr std::size_t kMost = 24;  ///< of transfers and of launches: the first tell enough
  std::vector<DeviceTransfer> transfers{};  ///< the first of them
  std::vector<DeviceLaunch> launches{};     ///< the first of them
  std::int64_t live_bytes = 0;              ///< allocated now
  int live_objects = 0;                     ///< streams and graphs that exist now
  std::vector<int> streams{};               ///< in which kernels ran
  /// If observed: kernels beside which a copy may run, and these copies; "2.0" is the first of such
  /// work in stream 2.
  std::vector<std::string> kernels_beside{};
  std::vector<std::string> copies_beside{};
  std::optional<PoisonedOutput> poisoned{};
};

/// The accesses of a kernel's warps to one array in one line of a source. A *request* is one load
/// or store of a warp, by all lanes that make it together.
struct AccessNote {
  std::string kernel{};
  std::string file{};  ///< without its folder
  int line = 0;
  /// "global", "shared", "constant"; "local" of an array of the thread's own whose index no
  /// compiler knows, or, without a line, of a whole kernel, whose threads keep more than fits into
  /// registers: one load for each of their multiply-adds
  std::string space{};
  FaultMemory memory{};  ///< which array; `variable` also of constant memory
  bool writes = false;
  bool atomic = false;  ///< reads and writes in one operation
  int bytes = 0;        ///< of one access
  std::int64_t requests = 0;
  std::int64_t lanes = 0;  ///< of all requests: the accesses of single threads
  /// Of all requests, the parts that the memory answers one after the other: for global memory
  /// sectors of 32 bytes, for shared memory passes (most different words in one bank), for constant
  /// memory different words.
  std::int64_t parts = 0;
  /// Of shared memory the passes that a conflict-free request would not need; of atomic operations
  /// the turns that lanes with the same address wait for.
  std::int64_t conflicts = 0;
  std::int64_t threads = 0;  ///< that made at least one access
};

/// Why a barrier is needed: one thread accessed elements of shared memory before it and another one
/// behind it, with no other barrier between. Without lines of accesses: where a barrier is.
struct BarrierNote {
  std::string kernel{};
  std::string file{};
  int line = 0;
  std::int64_t times = 0;  ///< that a block met in it, over all blocks; of the barrier itself
  std::string variable{};  ///< of shared memory
  int before = 0;          ///< the line of the earlier access; 0: nothing needs the barrier
  bool before_writes = false;
  int behind = 0;  ///< the line of the later access
  bool behind_writes = false;
  std::int64_t elements = 0;  ///< pairs of accesses
};

/// Multiply-adds (or products alone) that one line of a kernel makes: on tensor cores those with
/// padding included.
struct ProductNote {
  std::string kernel{};
  std::string file{};
  int line = 0;
  std::string kind{};                ///< "tensor", "float", "half" or "half2", which makes two
  std::int64_t multiply_adds = 0;    ///< of all threads
  std::int64_t warp_operations = 0;  ///< that warps make for them; 0 on tensor cores
};

/// The counts of one run of a stage.
struct AccessNotes {
  std::vector<AccessNote> accesses{};
  std::vector<BarrierNote> barriers{};
  std::vector<ProductNote> products{};
  std::int64_t left_out = 0;     ///< lines for which a message has no room, in notes of line 0
  std::int64_t shuffles = 0;     ///< values that lanes got from another one
  std::int64_t async_bytes = 0;  ///< that asynchronous copies moved into shared memory
  /// Multiply-adds of the thread that makes most, and how many threads make some: of tensor cores
  /// none.
  std::int64_t most_products = 0;
  std::int64_t product_threads = 0;
};

/// Returns the accesses that the program has counted since the last call
/// (common/emulation/trace/access_counts). Null in programs that do not count.
using AccessSource = AccessNotes (*)();
inline AccessSource access_source = nullptr;

/// What threads do in one step of a block.
enum class StepKind {
  kRead,
  kWrite,
  kAtomic,    ///< reads and writes in one operation
  kBarrier,   ///< all threads of the block that have not ended meet
  kMeeting,   ///< lanes of warps meet: __syncwarp, a shuffle
  kProducts,  ///< warps multiply on tensor cores
};

inline const char* to_string(StepKind kind) {
  return enum_name(kind, {"read", "write", "atomic", "barrier", "meeting", "products"});
}

/// A piece of memory that the threads of a block touched.
struct StepArray {
  std::string space{};   ///< "global", "shared" or "constant"
  FaultMemory memory{};  ///< which one; without an offset
  int begin = 0;         ///< of its address, modulo 128: sectors and banks follow from it
};

/// A place in the source.
struct StepPlace {
  std::string file{};  ///< without its folder
  int line = 0;        ///< 0: unknown
  std::string call{};  ///< of a barrier or a meeting: "__syncthreads"
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
  bool is_cut = false;   ///< more steps follow
  bool is_over = false;  ///< the block came to its end
};

/// Returns what the program has recorded since the last call
/// (common/emulation/trace/step_recorder). Null in programs that do not record.
using StepSource = StepNotes (*)();
inline StepSource step_source = nullptr;

}  // namespace convlab
