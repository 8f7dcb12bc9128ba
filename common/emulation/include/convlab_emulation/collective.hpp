#pragma once

// Where the threads of a block meet: the contract between the scheduler and everything that is
// built on it (shuffles, votes, matrix fragments, cooperative groups, pipelines).
//
// Idea     An emulated thread runs until it must wait for others. In a *warp collective* every lane
//          posts where its input lies and where its result is wanted; the last one to arrive
//          computes the results of all lanes; then all go on, in lane order. Inputs and outputs
//          lie on the stacks of the waiting threads.
// Use      shuffle() in warp_functions.hpp

#include <cstddef>
#include <cstdint>

#include "common/emulation/include/convlab_emulation/call_site.hpp"
#include "common/emulation/include/convlab_emulation/language_standard.hpp"

namespace convlab::emulation {

inline constexpr int kWarpSize = 32;
inline constexpr std::uint32_t kFullMask = 0xffffffffU;

/// The lanes of a mask, lowest first, for a range-based for.
class LaneRange {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(std::uint32_t rest) : rest_(rest) {}
    constexpr int operator*() const { return countr_zero(rest_); }
    constexpr Iterator& operator++() {
      rest_ &= rest_ - 1;
      return *this;
    }
    friend constexpr bool operator!=(const Iterator& a, const Iterator& b) {
      return a.rest_ != b.rest_;
    }

   private:
    std::uint32_t rest_;
  };

  constexpr explicit LaneRange(std::uint32_t mask) : mask_(mask) {}
  [[nodiscard]] constexpr Iterator begin() const { return Iterator(mask_); }
  [[nodiscard]] constexpr Iterator end() const { return Iterator(0); }

 private:
  std::uint32_t mask_;
};

/// What a warp operation sees once every lane has arrived.
struct WarpExchange {
  std::uint32_t mask = 0;              ///< the lanes that the callers named
  std::uint32_t present = 0;           ///< those that came: mask without the lanes that have exited
  const void* inputs[kWarpSize] = {};  ///< null for a lane that is not present
  void* outputs[kWarpSize] = {};

  /// Lanes that posted, in lane order.
  [[nodiscard]] LaneRange lanes() const { return LaneRange(present); }
  [[nodiscard]] bool has(int lane) const {
    return lane >= 0 && lane < kWarpSize && ((present >> lane) & 1U) != 0;
  }
  template <typename T>
  [[nodiscard]] const auto& input(int lane) const {
    return *static_cast<const T*>(inputs[lane]);
  }
  template <typename T>
  [[nodiscard]] auto& output(int lane) const {
    return *static_cast<T*>(outputs[lane]);
  }
};

/// Computes the results of all lanes. It must not block and must not throw.
using WarpFunction = void (*)(WarpExchange&);

/// One kind of warp operation: lanes meet if function and name are equal, from any call sites.
struct WarpOperation {
  WarpFunction function;
  const char* name;  ///< as the student wrote it, for reports: "__shfl_down_sync"
  /// What the lanes did before is done for all of them after it: barriers only.
  bool orders = false;
  std::size_t exchanged_bytes = 0;  ///< of a result that is another lane's value

  friend constexpr bool operator==(const WarpOperation& a, const WarpOperation& b) {
    return a.function == b.function && a.name == b.name;
  }
};

/// Waits until all lanes of `mask` that have not exited have posted the same operation with the
/// same mask, and its function has run. A caller outside its mask fails the kernel.
/// @param input   the calling lane's operands
/// @param output  where the function stores the lane's result; may be null
void warp_collective(const WarpOperation& operation, std::uint32_t mask, const void* input,
                     void* output, CallSite site);

/// The file of a site that is no place in a source, but an address of the program: position() is
/// that address. Lanes that wait at several of them go on from the smallest.
inline constexpr char kInStepSite[] = "in step";

/// The lanes of the calling warp that execute this call together: those that arrive at `site`
/// before no other lane of the block can go on. What __activemask() and coalesced_threads() return.
[[nodiscard]] std::uint32_t converged_lanes(CallSite site);

/// Waits for every thread of the block that has not exited. From different call sites they make a
/// divergent barrier, which fails the kernel.
/// @param name  as the student wrote it, for reports: "__syncthreads_or"
void block_barrier(const char* name, bool predicate, CallSite site);

/// Waits until every thread of a cooperative launch is here. Any other launch fails.
void grid_barrier(CallSite site);
[[nodiscard]] bool is_cooperative();

/// What a block barrier found out about the predicates handed in.
struct BarrierResult {
  int arrived;  ///< threads that met: the block without those that have exited
  int count;    ///< how many of them came with predicate != 0
};

/// The result of the last barrier of the calling thread. (block_barrier does not return it: it must
/// end with the switch to another thread.)
[[nodiscard]] BarrierResult barrier_result();

/// Waits until another thread of the block calls wake_sleepers with the same reason, an address.
/// By then the condition may be false again: the caller must check it once more.
/// @param name  as the student wrote it, for reports: "barrier::wait"
void sleep_until_woken(const char* name, const void* reason, CallSite site);
void wake_sleepers(const void* reason);

/// Position of the calling thread in its warp, 0 to 31.
[[nodiscard]] int lane_id();
/// threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)
[[nodiscard]] int thread_rank();

/// Ways in which a kernel fails; each becomes the CUDA error of that name at the next
/// synchronisation.
enum class KernelFault {
  kInvalidValue = 1,  ///< a launch that a GPU refuses: not sticky, the launch's own error
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kLaunchFailure = 719,
};

/// Ends the running kernel with a report that names block, thread and place.
/// @param format  of printf, for one sentence
[[noreturn, gnu::format(printf, 3, 4)]] void fail_kernel(KernelFault fault, CallSite site,
                                                         const char* format, ...);

/// Waits until all earlier blocks of the grid are over. Every atomic operation on global memory
/// does so first: sums and returned values then depend on the order of blocks only, whatever the
/// number of cores. Only the first call of a block can wait.
void take_turn();

/// Reports something doubtful and lets the kernel go on; once per place and process.
void note_kernel(const char* message, CallSite site);

/// Ends the kernel if the program asks before each access and these bytes are not all in one array.
/// For what the runtime moves: fragments of matrices, asynchronous copies.
void check_access(const void* begin, std::size_t bytes, bool writes, const CallSite& site);

/// Whether the caller runs inside an emulated kernel (and not on the host).
[[nodiscard]] bool in_kernel();

// What threads of kernels tell common/emulation/trace, if the program was compiled for it.

/// What is special of an atomic operation: a set.
enum AtomicKind : unsigned {
  kAtomicOrders = 1,   ///< it also acquires and releases, as those of libcu++ do
  kAtomicInBlock = 2,  ///< atomic, and ordering, for threads of the same block only
  kAtomicReads = 4,    ///< it changes nothing
  kAtomicStores = 8,   ///< it needs nothing of what was there
};

/// The next accesses of the running thread to these bytes are one atomic operation.
/// @param kind  of AtomicKind
void begin_atomic(const void* address, std::size_t bytes, unsigned kind);
void end_atomic();
/// A compare-and-swap will find out whether what the thread has just read there is still true.
void observe_verification(const void* address);

/// @param in_block  for threads of the same block only
void observe_fence(bool in_block);
/// What the thread did before is known to each thread that acquires the same object later.
void observe_release(const void* object);
void observe_acquire(const void* object);
/// These bytes are an object whose operations order threads; its own accesses are no matter.
void observe_object(const void* object, std::size_t bytes);

/// The thread begins an asynchronous copy; it has waited for one.
void observe_copy(void* to, const void* from, std::size_t bytes, const CallSite& site);
void observe_copied(void* to, std::size_t bytes, const CallSite& site);

/// An access that some lane of the thread's warp makes; the layout of fragments leaves open which.
void observe_warp(const void* address, std::size_t bytes, std::size_t part, bool writes,
                  const CallSite& site);

}  // namespace convlab::emulation
