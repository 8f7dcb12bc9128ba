#pragma once

// Finds races of kernels by what orders their threads (happens-before), not by what happened.
//
// Idea     Each word of memory remembers who wrote it last and who read it since. A thread knows up
//          to which time what others did is done for it: all of a block after a barrier, lanes
//          after a meeting of their warp, other blocks after the kernel, and whoever released what
//          the thread acquired. An access races with one that its thread does not know of, if one
//          of the two writes and they are not both atomic. The order of execution does not matter.
// Orders   __syncthreads and its kin; __syncwarp and sync of tiles (of the lanes in the mask);
//          cuda::barrier, cuda::pipeline; libcu++'s atomics unless relaxed; a fence, then an atomic
//          or volatile write, then an atomic or volatile read of the same word; kernels of one
//          stream, events, waits of the host. A copy or a fill in a stream is a kernel of one
//          thread. A fence or an atomic operation of the scope of a block orders, and is atomic,
//          for threads of that block only.
// Flags    A volatile word is a flag if a thread that reads it learns by that of a fence before
//          the store. All other volatile accesses are those of data.
// Not      Shuffles and votes. The products, loads and stores of fragments: any lane may touch any
//          element, and lanes know nothing of each other afterwards. An atomic operation of CUDA
//          C++ alone.
// Pardons  Two writes that store the same value; a read that a compare-and-swap verifies at once;
//          accesses to a flag; a volatile read of what others change atomically.
// Cost     A lookup and some comparisons for each access; 15 bytes of memory for each byte used.
// Source   Flanagan and Freund, FastTrack, PLDI 2009; PTX ISA, Memory Consistency Model.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "common/base/fault_record.hpp"
#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/kernel_call.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/trace/places.hpp"

namespace convlab::emulation {

// ---- what a thread knows of others: up to which time what they did is done for it --------------

/// A thread of a block that ran, counted over all blocks; the threads of a warp follow each other
/// from a multiple of 32. 0 is none.
using Unit = std::uint32_t;
/// Grows with each event that orders threads. Threads are emulated one after the other, so one
/// count serves all of them.
using Stamp = std::uint32_t;

/// Stamps by number, which copies share until one of them changes: a copy takes no time, and two
/// that hardly differ are joined in hardly any. @tparam Leaf  has join(const Leaf&), which returns
/// whether it grew
template <typename Leaf>
class StampTree {
 public:
  [[nodiscard]] bool empty() const { return root_ == nullptr; }
  Leaf& operator[](std::uint32_t key) {
    Pointer* place = &root_;
    for (int shift = kTop; shift >= 0; shift -= kBits)
      place = &own<Inner>(*place)[key >> shift & kMask];
    return own<Leaf>(*place);
  }
  [[nodiscard]] const Leaf* find(std::uint32_t key) const {
    const Pointer* place = &root_;
    for (int shift = kTop; shift >= 0 && *place != nullptr; shift -= kBits)
      place = &(*static_cast<const Inner*>(place->get()))[key >> shift & kMask];
    return static_cast<const Leaf*>(place->get());
  }
  void join(const StampTree& other) { join(root_, other.root_, kTop); }
  void erase(std::uint32_t key) {
    if (find(key) == nullptr) return;
    Pointer* place = &root_;
    for (int shift = kTop; shift >= 0; shift -= kBits)
      place = &own<Inner>(*place)[key >> shift & kMask];
    place->reset();
  }

 private:
  static constexpr int kBits = 4;
  static constexpr int kTop = 20;
  static constexpr std::uint32_t kMask = (1U << kBits) - 1;
  using Pointer = std::shared_ptr<void>;
  using Inner = std::array<Pointer, 1U << kBits>;

  /// What the pointer points to, which nobody else has.
  template <typename T>
  static T& own(Pointer& pointer) {
    if (pointer == nullptr)
      pointer = std::make_shared<T>();
    else if (pointer.use_count() > 1)
      pointer = std::make_shared<T>(*static_cast<const T*>(pointer.get()));
    return *static_cast<T*>(pointer.get());
  }
  static void join(Pointer& mine, const Pointer& other, int shift) {
    if (other == nullptr || mine == other) return;
    if (mine == nullptr) {
      mine = other;
    } else if (shift < 0) {
      const Leaf& theirs = *static_cast<const Leaf*>(other.get());
      Leaf leaf = *static_cast<const Leaf*>(mine.get());
      const bool grew = leaf.join(theirs);
      if (!Leaf(theirs).join(leaf))
        mine = other;
      else if (grew)
        own<Leaf>(mine) = leaf;
    } else {
      // What is equal to the other's becomes the other's, so that it is compared no more.
      bool is_other = true;
      for (std::uint32_t i = 0; i <= kMask; ++i) {
        const Pointer& theirs = (*static_cast<const Inner*>(other.get()))[i];
        const Pointer& before = (*static_cast<const Inner*>(mine.get()))[i];
        Pointer part = before;
        join(part, theirs, shift - kBits);
        is_other = is_other && part == theirs;
        if (part != before) own<Inner>(mine)[i] = part;
      }
      if (is_other) mine = other;
    }
  }

  Pointer root_;
};

/// Knowledge that came by other ways than barriers: by meetings of some lanes or warps, fences,
/// atomic operations, objects of libcu++. Blocks, warps and threads, each known up to a stamp.
class Clock {
 public:
  [[nodiscard]] bool empty() const { return warps_.empty() && blocks_.empty(); }
  void add_thread(Unit unit, Stamp stamp) {
    Stamp& known = warps_[unit / kWarpSize].lanes[unit % kWarpSize];
    known = std::max(known, stamp);
  }
  void add_warp(Unit first, Stamp stamp) {
    Stamp& known = warps_[first / kWarpSize].all;
    known = std::max(known, stamp);
  }
  /// @param base  its first unit
  void add_block(Unit base, Stamp stamp) {
    Stamp& known = blocks_[base / kWarpSize].stamp;
    known = std::max(known, stamp);
  }
  void join(const Clock& other) {
    warps_.join(other.warps_);
    blocks_.join(other.blocks_);
  }
  void forget_block(Unit base, unsigned threads) {
    for (Unit unit = base; unit < base + threads; unit += kWarpSize) warps_.erase(unit / kWarpSize);
    blocks_.erase(base / kWarpSize);
  }
  /// @param base  of the unit's block
  [[nodiscard]] bool knows(Unit unit, Unit base, Stamp stamp) const {
    if (const OfBlock* const block = blocks_.find(base / kWarpSize); block && stamp <= block->stamp)
      return true;
    const OfWarp* const warp = warps_.find(unit / kWarpSize);
    return warp && stamp <= std::max(warp->all, warp->lanes[unit % kWarpSize]);
  }

 private:
  struct OfWarp {
    Stamp all = 0;
    std::array<Stamp, kWarpSize> lanes{};
    bool join(const OfWarp& other) {
      const OfWarp before = *this;
      all = std::max(all, other.all);
      for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = std::max(lanes[i], other.lanes[i]);
      return all != before.all || lanes != before.lanes;
    }
  };
  struct OfBlock {
    Stamp stamp = 0;
    bool join(const OfBlock& other) {
      return std::exchange(stamp, std::max(stamp, other.stamp)) != stamp;
    }
  };

  StampTree<OfWarp> warps_;
  StampTree<OfBlock> blocks_;
};

class RaceDetector final : public Observer {
 public:
  struct Access {
    std::uintptr_t address;
    std::size_t bytes;
    bool writes;
    bool is_volatile;
    Place place;  ///< 0: of the caller
    const void* caller = nullptr;
  };
  /// An access of the running thread to traced memory.
  void access(const Access& access);

  void begin_grid(const KernelCall& call) override;
  void begin_transfer(const char* function, const void* from, std::size_t read, const void* to,
                      std::size_t written) override;
  void begin_block() override;
  void end_block() override;
  void resume_block() override;
  void met_in_block(const char* call, const CallSite& site) override;
  void met_in_warp(unsigned first_rank, const WarpOperation& operation, std::uint32_t lanes,
                   const CallSite& site) override;
  void met_in_part(std::uint32_t warps) override;
  void access_by_warp(const void* address, std::size_t bytes, std::size_t part, bool writes,
                      const CallSite& site) override;
  void begin_copy(void* to, const void* from, std::size_t bytes, const CallSite& site) override;
  void end_copy(void* to, std::size_t bytes, const CallSite& site) override;
  void begin_atomic(const void* address, std::size_t bytes, unsigned kind,
                    const void* place) override;
  void end_atomic() override;
  void verify(const void* address) override;
  void fence(bool in_block) override;
  void release(const void* object) override;
  void acquire(const void* object) override;
  void begin_object(const void* object, std::size_t bytes) override;

  /// Every race since the last call of take(): one of each pair of lines, the one that says most
  /// first.
  std::vector<FaultRecord> all();

  /// The race that says most of those that were met since the last call; forgets everything.
  std::optional<FaultRecord> take();

  /// What a thread read and nobody had written, of shared memory none of its block: of each line
  /// the first.
  [[nodiscard]] std::vector<FaultRecord> unwritten() const;

 private:
  enum Flag : std::uint32_t {
    kWrites = 1,
    kAtomic = 2,
    kVolatile = 4,
    kByWarp = 8,   ///< `unit` is the warp's first
    kObject = 16,  ///< of begin_object()
    kTransfer = 32,
    kInBlock = 64,  ///< atomic for threads of the block
  };
  /// Who touched a word. Five of them lie in one line of the processor's cache.
  struct Touch {
    Unit unit = 0;
    Stamp stamp = 0;
    Place place : 24 = 0;
    std::uint32_t flags : 8 = 0;
  };
  /// Of the reads since the last write the latest; the latest of its warp by another lane; the
  /// latest by another warp.
  struct Cell {
    Touch write{};
    /// Of several atomic writes: an earlier one by another thread, best of another warp, or the
    /// plain write before them.
    Touch earlier{};
    std::array<Touch, 3> reads{};
  };
  /// 4 KiB of memory. A page has a cell for each word, or for smaller parts where some are used.
  struct Page {
    unsigned shift = 2;
    std::vector<Cell> cells;
  };
  struct Warp {
    Stamp all = 0;               ///< what its lanes did until then is known to all of them
    const char* call = nullptr;  ///< that met last, and where
    CallSite site{};
  };
  /// What threads knew at their last fence, and one of these fences.
  struct Fence {
    Clock known{};
    Unit unit = 0;
    Stamp stamp = 0;
  };
  /// By word: the stamp of a volatile or atomic write.
  using Writes = std::unordered_map<std::uintptr_t, Stamp>;
  struct Thread {
    Clock known{};             ///< beyond barriers of the block and meetings of whole warps
    Fence fenced{};            ///< for all
    Fence block_fenced{};      ///< for its block
    Writes seen{};             ///< writes of others that it read since its last fence
    Writes settled{};          ///< before that
    bool may_release = false;  ///< no atomic operation since its last fence
  };
  using Released = std::unordered_map<std::uintptr_t, Fence>;
  struct Block {
    Unit base = 0;
    unsigned threads = 0;
    Stamp barrier = 0;  ///< what its threads did until then is known to all of them
    Clock known{};      ///< to all of them, of other blocks
    Fence fenced{};
    Fence block_fenced{};
    Writes settled{};
    Released released{};  ///< for its threads: by word, or object in its shared memory
    std::vector<Warp> warps;
    std::vector<Thread> extra;                     ///< by rank, empty before it is needed
    std::vector<std::vector<std::uint64_t>> last;  ///< by place, then rank: when it was there last
    std::vector<std::uint64_t> phase;              ///< by rank: the time of its last barrier
    std::vector<std::uint64_t> warp_phase;         ///< by rank: of its last meeting
  };
  struct BlockOf {
    Unit base;
    uint3 index;
    std::uint32_t grid;
  };
  struct Grid {
    Stamp begin = 0;
    Stamp synced = 0;           ///< what its blocks did until then is known to all of them
    std::uint64_t meeting = 0;  ///< blocks that wait in grid.sync()
    const char* name = "";
    CallSite launch{};
    dim3 size{};
    dim3 block{};
    std::map<int, int> before{};  ///< how much of each stream's work is done before it
    int stream = 0;
    int number = 0;  ///< among the work of its stream
    bool is_transfer = false;
  };
  /// In which order a thread comes to the two lines.
  enum class ProgramOrder : std::uint8_t { kFirstBefore, kSecondBefore, kByLine };
  struct Race {
    Touch first{};
    Touch second{};
    std::uintptr_t address = 0;
    FaultMemory memory{};
    RaceScope scope = RaceScope::kWarp;
    bool updates = false;  ///< the second thread read the element just before it writes
    ProgramOrder order = ProgramOrder::kByLine;
    const char* between = nullptr;  ///< where no barrier of the block is: a call of a warp
    CallSite between_site{};
    std::uint64_t number = 0;
  };
  /// A write of an element that another thread has written, before it has happened: it may store
  /// the same value. Or a read of one that another thread changes atomically.
  struct Pending {
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
    std::array<unsigned char, 16> before{};
    Race race{};
  };

  /// What belongs to a thread of the host that runs a block.
  struct Worker {
    std::unique_ptr<Block> block{};
    bool in_atomic = false;
    std::uintptr_t atomic_begin = 0;
    std::uintptr_t atomic_end = 0;
    std::optional<Pending> pending{};
  };
  void make_block(unsigned threads, const uint3& index);
  [[nodiscard]] std::string meeting_places() const;

  void touch(std::uintptr_t address, std::size_t bytes, const Touch& now);
  void touch_cell(Cell& cell, std::uintptr_t address, std::size_t bytes, bool in_shared,
                  const Touch& now);
  static void add_read(Cell& cell, const Touch& now);
  Page& page_of(std::uintptr_t address);
  static void refine(Page& page, unsigned shift);

  [[nodiscard]] bool known_to(unsigned rank, const Touch& before) const;
  [[nodiscard]] bool is_known(const Touch& before, const Touch& now) const;
  [[nodiscard]] bool before_grid(Stamp stamp) const;
  /// @return false for a race
  bool compare(const Touch& before, const Touch& now, std::uintptr_t address, const Cell& cell,
               std::size_t bytes);
  bool is_one_of_many(const Touch& before, std::uintptr_t address, std::size_t bytes);
  void tell(const Race& race);
  void resolve_pending();
  [[nodiscard]] ProgramOrder program_order(const Touch& before, const Touch& now) const;
  void note_place(Place place, unsigned rank, std::uintptr_t address);
  [[nodiscard]] std::uint64_t last_of(Place place, unsigned rank) const;

  void order_by_word(std::uintptr_t address, bool reads, bool writes, unsigned kind);
  void acquire_word(const Released& released, std::uintptr_t address);
  [[nodiscard]] bool is_flag(const Touch& before, const Touch& now, std::uintptr_t address) const;
  [[nodiscard]] bool has_settled(std::uintptr_t address, Stamp stamp) const;
  void note_unwritten(const Touch& now, std::uintptr_t address, std::size_t bytes);
  void meet(const std::vector<unsigned>& ranks, bool is_whole_warp);
  void tell_all(unsigned rank, Clock& clock);
  Fence fence_of(unsigned rank);
  Released& released_near(const void* object);
  Thread& thread(unsigned rank);
  [[nodiscard]] static unsigned rank();
  [[nodiscard]] const BlockOf& block_of(Unit unit) const;
  /// The later one that is no copy or fill, if there is one.
  static const Touch& by_thread(const Race& race) {
    return (race.second.flags & kTransfer) != 0 ? race.first : race.second;
  }
  [[nodiscard]] RaceSide side_of(const Touch& touch) const;
  [[nodiscard]] FaultRecord record_of(const Race& race) const;

  Stamp now_ = 1;
  Unit next_unit_ = kWarpSize;
  std::uint64_t time_ = 0;
  Worker* worker_ = nullptr;  ///< the one that runs, and its block
  Block* block_ = nullptr;
  std::vector<BlockOf> blocks_;
  std::vector<Grid> grids_;
  Stamp safe_ = 0;  ///< what happened until then is done before the running grid
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::array<std::pair<std::uintptr_t, Page*>, 64> latest_{};
  Released released_;  ///< by any other object
  std::unordered_set<std::uintptr_t> flags_;
  std::uintptr_t word_ = 0;  ///< that the running access orders by
  std::map<Place, FaultRecord> unwritten_;
  std::vector<Race> races_;
  std::unordered_map<std::uint64_t, std::size_t> known_races_;
  std::vector<std::uintptr_t> first_address_;  ///< of each place
};

/// Begins to observe, as with CONVLAB_EMU_TRACE=races. Before the first kernel.
void look_for_races();

}  // namespace convlab::emulation
