#pragma once

// Counts what the warps of a kernel ask of each kind of memory, and what each barrier is for.
//
// Idea     Each lane leaves a list of where it came and what it touched; lane_pairing.hpp says
//          which of them made a request together. The lists begin anew where all lanes meet.
// Joined   Loads of neighbouring words of shared memory in one block of the program, or in turns of
//          a loop that follow each other, as a compiler for a GPU joins them. In global memory it
//          does so only if the type of the pointer promises that they are aligned, which nobody
//          sees here.
// Products Of floats and doubles those in the machine code of each block of the program
//          (requests.cpp); of halves those that cuda_fp16.h marks, which makes each by up to four
//          of doubles; on tensor cores those that it is told of.
// Barrier  Each word of shared memory remembers who touched it last and how many barriers that
//          thread had passed. If another thread touches it exactly one barrier later, and one of
//          the two writes, that barrier keeps them apart. A fragment counts as an access of its
//          warp's first lane.
// Fragment Which lane loads which element is left open. Counted is what ldmatrix would ask for:
//          eight rows of 16 bytes at a time.
// Use      CONVLAB_EMU_TRACE=counts, in a file compiled for it
// Source   CUDA C++ Programming Guide, "Device Memory Accesses": sectors of 32 bytes, 32 banks of 4
//          bytes, one word of constant memory for a warp at a time.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/device_notes.hpp"
#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/runtime/parcel.hpp"
#include "common/emulation/trace/places.hpp"

namespace convlab::emulation {

// ---- what the memory does with one request of a warp (requests.cpp) -----------------------------

/// The lanes of a warp that make one access together.
struct Request {
  std::uint32_t mask = 0;
  std::array<std::uintptr_t, kWarpSize> address{};
};

/// The parts that the memory answers one after the other (AccessNote::parts), and of these the
/// conflicts.
struct Parts {
  int all = 0;
  int conflicts = 0;
};

/// As notes have it.
const char* name_of(Space space);

/// @param bytes  of each lane's access
Parts parts_of(const Request& request, Space space, std::size_t bytes, bool atomic);

// ---- products (requests.cpp) --------------------------------------------------------------------

struct MadeProducts {
  int floats = 0;
  int doubles = 0;
  const void* first = nullptr;  ///< the instruction
};
/// In the machine code behind this return address up to where the next block of the
/// program begins: there, too, the compiler calls what it has just called.
MadeProducts products_behind(const void* caller);

// ---- what is gathered of a block that runs ------------------------------------------------------

/// Requests that follow each other. Joined are loads of neighbours in shared memory: `p[i].x` and
/// `p[i].y` in one block of the program, `p[i]` in the turns of a loop that the compiler unrolls.
/// @tparam Spot   has `joins`, whether it is such a load; `writes`; `bytes`
/// @tparam Count  count(spot, request, bytes) for each request that is made
template <class Spot, class Count>
class JoinedRequests {
 public:
  explicit JoinedRequests(Count count) : count_(std::move(count)) {}

  void add(const Spot& here, const Request& request) {
    if (!here.joins) {
      if (here.writes) close();
      return make({&here, request, here.bytes});
    }
    for (Open& open : open_) {
      const bool is_same = open.here == &here;
      if (open.in_turn != turn_ && !is_same) continue;
      if (extends(open, here, request)) {
        open.bytes += here.bytes;
        open.in_turn = turn_;
        return;
      }
      if (!is_same) continue;
      make(open);
      open = {&here, request, here.bytes, turn_};
      return;
    }
    open_.push_back({&here, request, here.bytes, turn_});
  }

  /// Another block of the program begins.
  void turn() { ++turn_; }

  void close() {
    for (const Open& open : open_) make(open);
    open_.clear();
  }

 private:
  struct Open {
    const Spot* here;
    Request request;
    std::size_t bytes;
    int in_turn = 0;  ///< the last one in which it grew
  };

  void make(Open open) {
    for (std::size_t bytes = 0; open.bytes > 0; open.bytes -= bytes) {
      bytes = std::bit_floor(open.bytes);
      count_(*open.here, open.request, bytes);
      for (std::uintptr_t& address : open.request.address) address += bytes;
    }
  }

  // Aligned as one load must be.
  static bool extends(const Open& open, const Spot& here, const Request& request) {
    const std::size_t bytes = open.bytes + here.bytes;
    if (open.request.mask != request.mask || bytes > kWidestLoad) return false;
    for (const int lane : LaneRange(request.mask)) {
      const std::uintptr_t begin = open.request.address[static_cast<std::size_t>(lane)];
      if (begin % std::bit_ceil(bytes) != 0) return false;
      if (begin + open.bytes != request.address[static_cast<std::size_t>(lane)]) return false;
    }
    return true;
  }

  Count count_;
  std::vector<Open> open_;
  int turn_ = 0;
};

/// Who touched a word of shared memory last.
struct Touch {
  Place place = 0;
  int thread = -1;
  std::uint32_t barriers = 0;  ///< that the thread had passed
};

struct Word {
  Touch write;
  Touch read;
  Touch other_read;  ///< the last one by another thread than `read`
};

/// Two accesses that one barrier keeps apart.
struct Need {
  CallSite barrier{};
  Place before = 0;
  bool before_writes = false;
  Place behind = 0;
  auto key() const { return std::tuple(barrier.position(), before, before_writes, behind); }
  friend bool operator<(const Need& a, const Need& b) { return a.key() < b.key(); }
};

/// The variable of each need, and how many pairs of accesses have it.
struct NeedCount {
  std::string variable{};
  std::string kernel{};
  std::int64_t pairs = 0;
  void pass(Parcel& parcel) { parcel.pass(variable, kernel, pairs); }
};

using BarrierNeeds = std::map<Need, NeedCount>;

/// Of one block that runs.
struct SharedTouches {
  std::vector<std::uint32_t> barriers;  ///< passed, by thread
  std::vector<CallSite> sites;          ///< of the block's barriers, in order
  std::unordered_map<std::uintptr_t, Word> words{};

  void touch(BarrierNeeds& needs, const std::string& kernel, const std::string& variable,
             const void* address, std::size_t bytes, bool writes, const Touch& now) {
    constexpr std::uintptr_t kWord = 4;
    // The barrier between two accesses, if it is the only one.
    const auto note = [&](const Touch& before, bool before_writes) {
      if (before.thread < 0 || before.thread == now.thread) return;
      if (now.barriers != before.barriers + 1 || before.barriers >= sites.size()) return;
      NeedCount& need = needs[{sites[before.barriers], before.place, before_writes, now.place}];
      if (need.pairs++ > 0) return;
      need.variable = variable;
      need.kernel = kernel;
    };
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    for (auto at = begin / kWord; at <= (begin + bytes - 1) / kWord; ++at) {
      Word& word = words[at];
      note(word.write, true);
      if (writes) {
        note(word.read, false);
        note(word.other_read, false);
        word.write = now;
      } else {
        if (word.read.thread != now.thread) word.other_read = word.read;
        word.read = now;
      }
    }
  }
};

// ---- counting -----------------------------------------------------------------------------------

/// Counts from now on.
void count_requests();

/// What was counted since the last call.
AccessNotes take_counts();

}  // namespace convlab::emulation
