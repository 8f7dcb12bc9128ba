#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/fault_record.hpp"

namespace convlab {

/// The accesses of a kernel's warps to one array in one line of a source. A *request* is one load
/// or store of a warp, by all lanes that make it together.
struct AccessNote {
  std::string kernel{};
  std::string file{};  ///< without its folder
  int line = 0;
  std::string space{};   ///< "global", "shared" or "constant"
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
  int least = 0;                 ///< parts of one request
  int most = 0;                  ///< parts of one request
  std::int64_t threads = 0;      ///< that made at least one access
  std::int64_t most_by_one = 0;  ///< accesses of one thread

  friend bool operator==(const AccessNote&, const AccessNote&) = default;
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

  friend bool operator==(const BarrierNote&, const BarrierNote&) = default;
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

  friend bool operator==(const ProductNote&, const ProductNote&) = default;
};

/// The counts of one run of a stage.
struct AccessNotes {
  std::vector<AccessNote> accesses{};
  std::vector<BarrierNote> barriers{};
  std::vector<ProductNote> products{};
  std::int64_t left_out = 0;  ///< accesses and products for which a message has no room

  friend bool operator==(const AccessNotes&, const AccessNotes&) = default;
};

/// Returns the accesses that the program has counted since the last call
/// (common/emulation/trace/access_counts). Null in programs that do not count.
using AccessSource = AccessNotes (*)();
inline AccessSource& access_source() {
  static AccessSource source = nullptr;
  return source;
}

}  // namespace convlab
