#include "common/emulation/trace/access_counts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/device_notes.hpp"
#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/kernel_process.hpp"
#include "common/emulation/runtime/parcel.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/trace/access_totals.hpp"
#include "common/emulation/trace/lane_pairing.hpp"
#include "common/emulation/trace/products.hpp"

namespace convlab::emulation {
namespace {

/// One spot of the program in the running block.
struct SpotInBlock {
  Spot spot = 0;
  std::uint16_t number = 0;  ///< LaneEvent::what
  Space space = Space::kOther;
  std::size_t bytes = 0;
  bool atomic = false;
  bool writes = false;
  bool joins = false;                ///< JoinedRequests
  std::string variable{};            ///< of shared memory
  std::vector<bool> threads{};       ///< that came here, by rank
  std::vector<Request> fragments{};  ///< not full yet, by column
};

/// The block that a worker runs.
struct RunningBlock {
  std::string kernel{};
  std::deque<SpotInBlock> spots{SpotInBlock{}};  ///< the first one is none
  std::unordered_map<Spot, SpotInBlock*> by_spot;
  std::array<SpotInBlock*, 64> latest{};
  std::vector<LanePosition> positions;         ///< by thread
  std::vector<std::vector<LaneEvent>> events;  ///< by thread, since lanes have met
  std::size_t warp = 0;                        ///< that ran last
  SharedTouches touches;
  std::vector<ProductCount> products;   ///< by number
  std::vector<Products> made;           ///< by thread
  std::vector<std::uintptr_t> stack;    ///< where each thread's begins
  std::vector<std::uintptr_t> deepest;  ///< bytes of it that were in use
};

RunningBlock& running_block() {
  thread_local RunningBlock block;
  return block;
}

/// Everything that is counted and the running block, for one event.
struct Event {
  Totals& all = only<Totals>();
  RunningBlock& block = running_block();
};

template <typename T>
T& at(std::vector<T>& list, std::size_t index) {
  if (index >= list.size()) list.resize(index + 1);
  return list[index];
}

void add_request(AccessNote& note, Parts parts, int lanes) {
  note.parts += parts.all;
  note.conflicts += parts.conflicts;
  note.lanes += lanes;
  ++note.requests;
}

AccessNote& total_of(Totals& all, const RunningBlock& block, const SpotInBlock& here,
                     std::size_t bytes) {
  AccessNote& note = all.totals[{block.kernel, here.spot, bytes}];
  if (note.bytes == 0 && bytes != here.bytes) {
    note = all.totals[{block.kernel, here.spot, here.bytes}];
    note.requests = note.lanes = note.parts = note.conflicts = 0;
  }
  note.bytes = static_cast<int>(bytes);
  return note;
}

// Adds to the totals what the lanes of a warp did together.
void end_warp(Totals& all, RunningBlock& block, std::size_t warp) {
  const std::size_t begin = warp * kWarpSize;
  const std::size_t end = std::min(begin + kWarpSize, block.events.size());
  const auto count = [&](const SpotInBlock& here, const Request& request, std::size_t bytes) {
    add_request(total_of(all, block, here, bytes),
                parts_of(request, here.space, bytes, here.atomic), std::popcount(request.mask));
  };
  JoinedRequests<SpotInBlock, decltype(count)> open(count);
  for (std::size_t thread = begin; thread < end; ++thread) all.code.learn(block.events[thread]);
  for (std::size_t thread = begin; thread < end; ++thread) all.code.apply(block.events[thread]);
  pair_lanes(block.events, begin, end, [&](const auto& threads, const auto& next) {
    const auto event = [&](std::size_t thread) { return block.events[thread][next[thread] - 1]; };
    const SpotInBlock& here = block.spots[event(threads.front()).what()];
    if (here.number == 0) {
      open.turn();
      if (const std::int64_t number = event(threads.front()).offset; number > 0) {
        ProductCount& made = at(block.products, static_cast<std::size_t>(number));
        ++made.warps;
        made.threads += static_cast<std::int64_t>(threads.size());
        const Product& product = all.places_of_products[static_cast<std::size_t>(number)];
        for (const std::size_t thread : threads) block.made[thread].add(product, 1);
      }
      return true;
    }
    Request request;
    for (const std::size_t thread : threads) {
      request.mask |= 1U << (thread - begin);
      request.address[thread - begin] = static_cast<std::uintptr_t>(event(thread).offset);
    }
    open.add(here, request);
    return true;
  });
  open.close();
  for (std::size_t thread = begin; thread < end; ++thread) block.events[thread].clear();
}

void end_all_warps(Totals& all, RunningBlock& block) {
  for (std::size_t warp = 0; warp * kWarpSize < block.events.size(); ++warp)
    end_warp(all, block, warp);
}

bool has_ended(std::size_t warp) {
  return BlockRunner::current()->warps().live_lanes(static_cast<unsigned>(warp * kWarpSize)) == 0;
}

// The running thread adds something. A warp whose threads are over needs no memory any more.
void add_event(Totals& all, RunningBlock& block, std::size_t thread, const LaneEvent& event) {
  const std::size_t warp = thread / kWarpSize;
  if (warp != block.warp) {
    if (has_ended(block.warp)) end_warp(all, block, block.warp);
    block.warp = warp;
  }
  block.events[thread].push_back(event);
}

SpotInBlock& spot_at(Totals& all, RunningBlock& block, Spot spot, Space space, const void* address,
                     std::size_t bytes, bool atomic) {
  SpotInBlock*& known = block.latest[(spot ^ spot >> kSpotBits) % block.latest.size()];
  if (known != nullptr && known->spot == spot) return *known;
  SpotInBlock*& entry = block.by_spot[spot];
  if (entry == nullptr) {
    AccessNote& note = all.totals[{block.kernel, spot, bytes}];
    if (note.space.empty()) {
      note.kernel = block.kernel;
      note.space = name_of(space);
      if (space != Space::kLocal) note.memory = memory_at(address);
    }
    note.writes = (spot & 1U) != 0;
    note.atomic = atomic;
    note.bytes = static_cast<int>(bytes);
    entry = &block.spots.emplace_back(
        SpotInBlock{.spot = spot,
                    .number = static_cast<std::uint16_t>(block.spots.size()),
                    .space = space,
                    .bytes = bytes,
                    .atomic = atomic,
                    .writes = note.writes,
                    .joins = space == Space::kShared && !atomic && !note.writes,
                    .variable = note.memory.variable,
                    .threads = std::vector<bool>(block.positions.size())});
  }
  return *(known = entry);
}

// The number of what threads multiply that come there; 0 for nothing.
// @param known  null: what the machine code there says
std::int32_t product_at(Totals& all, const void* caller, const Product* known) {
  const Place place = place_of_access(caller);
  if (place >= all.product_at.size()) all.product_at.resize(place + 1, -1);
  if (all.product_at[place] >= 0) return all.product_at[place];
  Product product;
  if (known != nullptr) {
    product = {place, known->numbers, known->kind};
  } else if (const MadeProducts made = products_behind(caller); made.first != nullptr) {
    // As a return address, which lies behind what it stands for.
    product = {place_of_access(static_cast<const char*>(made.first) + 1), made.floats, "float",
               made.doubles};
  }
  if (product.place == 0) return all.product_at[place] = 0;
  all.places_of_products.push_back(product);
  return all.product_at[place] = static_cast<std::int32_t>(all.places_of_products.size() - 1);
}

// A thread of a GPU has 255 registers. What an array needs beyond them lies in local memory, which
// is memory of the device. The processor here keeps return addresses and registers on the stack,
// too.
constexpr std::uintptr_t kRegisterBytes = 255 * 4;
constexpr std::uintptr_t kOwnBytes = 256;

void note_depth(RunningBlock& block, std::size_t thread, const void* frame) {
  std::uintptr_t& deepest = block.deepest[thread];
  deepest = std::max(deepest, block.stack[thread] - reinterpret_cast<std::uintptr_t>(frame));
}

// The running thread has come to a place, and what it multiplies there.
void arrive(const void* caller, const void* frame, const Product* known) {
  const auto& [all, block] = Event{};
  const auto thread = static_cast<std::size_t>(thread_rank());
  note_depth(block, thread, frame);
  block.positions[thread].move(caller, frame);
  add_event(all, block, thread, block.positions[thread].event(0, product_at(all, caller, known)));
}

class AccessCounter final : public AccessObserver {
 public:
  [[nodiscard]] bool runs_apart() const override { return true; }
  void pass_notes(Parcel& parcel) override {
    Totals& all = only<Totals>();
    pass_places(parcel);
    parcel.pass(all.totals, all.products, all.places_of_products, all.product_at, all.made, all.met,
                all.needs, all.sums, all.local_loads);
  }

  void begin_block() override {
    RunningBlock& block = running_block();
    block = {};
    block.kernel = BlockRunner::current()->call().name;
    const std::size_t threads = BlockRunner::current()->scheduler().threads().size();
    block.positions.resize(threads);
    block.events.resize(threads);
    block.touches.barriers.resize(threads);
    block.stack.resize(threads);
    block.deepest.resize(threads);
    block.made.resize(threads);
  }

  void begin_thread(const void* stack) override {
    running_block().stack[static_cast<std::size_t>(thread_rank())] =
        reinterpret_cast<std::uintptr_t>(stack);
  }

  void end_block() override {
    const auto& [all, block] = Event{};
    end_all_warps(all, block);
    const bool is_seen = std::ranges::count(block.spots, Space::kLocal, &SpotInBlock::space) > 0;
    for (std::size_t thread = 0; thread < block.made.size(); ++thread) {
      const std::int64_t made = block.made[thread].sum();
      all.sums.most_products = std::max(all.sums.most_products, made);
      all.sums.product_threads += made > 0 ? 1 : 0;
      if (!is_seen && block.deepest[thread] > kRegisterBytes + kOwnBytes)
        all.local_loads[block.kernel] += made;
    }
    for (std::size_t number = 1; number < block.products.size(); ++number) {
      const ProductCount& made = block.products[number];
      if (made.warps == 0) continue;
      ProductCount& sum = all.made[{block.kernel, number}];
      sum.warps += made.warps;
      sum.threads += made.threads;
    }
    for (const SpotInBlock& here : block.spots) {
      if (here.number == 0) continue;
      AccessNote& note = all.totals[{block.kernel, here.spot, here.bytes}];
      note.threads += std::ranges::count(here.threads, true);
    }
  }

  void come_to_block(const void* caller, const void* frame) override {
    arrive(caller, frame, nullptr);
  }

  void multiply(const char* kind, int numbers, const void* caller, const void* frame) override {
    const Product product{0, numbers, kind};
    arrive(caller, frame, &product);
  }

  void access_by_warp(const void* address, std::size_t bytes, std::size_t part, bool writes,
                      const CallSite& site) override {
    constexpr int kRows = 8;
    const Space space = space_of(address);
    if (space == Space::kOther) return;
    const auto& [all, block] = Event{};
    const Place place = place_of_call(site);
    SpotInBlock& here =
        spot_at(all, block, spot_of(place, space, writes), space, address, part, false);
    for (std::size_t piece = 0; piece * part < bytes; ++piece) {
      // The rows of a column of pieces fill one request after the other.
      Request& column = at(here.fragments, piece);
      const int row = std::popcount(column.mask);
      column.address[static_cast<std::size_t>(row)] =
          reinterpret_cast<std::uintptr_t>(address) + piece * part;
      column.mask |= 1U << row;
      if (row + 1 < kRows) continue;
      add_request(total_of(all, block, here, here.bytes),
                  parts_of(column, space, here.bytes, here.atomic), kRows);
      column = {};
    }
    if (space == Space::kShared) {
      const int first = thread_rank() / kWarpSize * kWarpSize;
      block.touches.touch(all.needs, block.kernel, here.variable, address, bytes, writes,
                          {place, first, block.touches.barriers[static_cast<std::size_t>(first)]});
    }
  }

  void begin_copy(void* to, const void* from, std::size_t bytes, const CallSite& site) override {
    if (from != nullptr) only<Totals>().sums.async_bytes += static_cast<std::int64_t>(bytes);
    AccessObserver::begin_copy(to, from, bytes, site);
  }

  // Neighbouring lanes have the same word of their arrays in neighbouring words of local memory.
  void touch_own(const void* element, std::size_t bytes, bool writes, const void* caller,
                 const void* frame) override {
    constexpr std::uintptr_t kWord = 4;
    RunningBlock& block = running_block();
    const auto thread = static_cast<std::size_t>(thread_rank());
    move(caller, frame);
    const Place place = place_of_access(caller);
    const std::uintptr_t word =
        (block.stack[thread] - reinterpret_cast<std::uintptr_t>(element)) / kWord;
    for (std::uintptr_t part = 0; part * kWord < std::min(bytes, kWidestLoad); ++part)
      touch_in(
          Space::kLocal,
          reinterpret_cast<const void*>(((word - part) * kWarpSize + thread % kWarpSize) * kWord),
          kWord, writes ? StepKind::kWrite : StepKind::kRead, place);
  }

  bool multiply_in_warp(long long multiply_adds, const CallSite& site) override {
    Totals& all = only<Totals>();
    ProductNote& note = all.products[{site.file, site.position()}];
    if (note.line == 0) {
      note.kernel = BlockRunner::current()->call().name;
      note.file = name_of(site.file);
      note.line = static_cast<int>(site.line);
      note.kind = "tensor";
    }
    note.multiply_adds += multiply_adds;
    return false;
  }

  void met_in_block(const char* /*call*/, const CallSite& site) override {
    const auto& [all, block] = Event{};
    end_all_warps(all, block);
    for (const EmulatedThread& thread : BlockRunner::current()->scheduler().threads())
      if (thread.state != EmulatedThread::State::kExited) ++block.touches.barriers[thread.rank];
    block.touches.sites.push_back(site);
    BarrierNote& barrier = all.met[{site.file, site.position()}];
    if (barrier.times++ > 0) return;
    barrier.kernel = block.kernel;
    barrier.file = name_of(site.file);
    barrier.line = static_cast<int>(site.line);
  }

  void met_in_warp(unsigned first_rank, const WarpOperation& operation, std::uint32_t lanes,
                   const CallSite& site) override {
    Totals& all = only<Totals>();
    const std::string_view name(operation.name);
    if (name.starts_with("__shfl")) all.sums.shuffles += std::popcount(lanes);
    if (name.starts_with("mma.")) all.products[{site.file, site.position()}].kind = "tensor-ptx";
    if (lanes != BlockRunner::current()->warps().live_lanes(first_rank)) return;
    end_warp(all, running_block(), first_rank / kWarpSize);
  }

 private:
  bool move(const void* caller, const void* frame) override {
    running_block().positions[static_cast<std::size_t>(thread_rank())].move(caller, frame);
    return true;
  }

  void touch(const void* address, std::size_t bytes, StepKind kind, Place place) override {
    const Space space = space_of(address);
    if (space != Space::kOther) touch_in(space, address, bytes, kind, place);
  }

  static void touch_in(Space space, const void* address, std::size_t bytes, StepKind kind,
                       Place place) {
    const auto& [all, block] = Event{};
    const bool atomic = kind == StepKind::kAtomic;
    const bool writes = kind != StepKind::kRead;
    SpotInBlock& here =
        spot_at(all, block, spot_of(place, space, writes), space, address, bytes, atomic);
    const auto thread = static_cast<std::size_t>(thread_rank());
    here.threads[thread] = true;
    add_event(
        all, block, thread,
        block.positions[thread].event(
            here.number, static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address))));
    if (space == Space::kShared) {
      block.touches.touch(all.needs, block.kernel, here.variable, address, bytes, writes,
                          {place, static_cast<int>(thread), block.touches.barriers[thread]});
    }
  }
};

}  // namespace

void count_requests() {
  align_to(256);  // as a GPU does: sectors depend on it
  observe_accesses(only<AccessCounter>());
  access_source = take_counts;
}

AccessNotes take_counts() {
  fetch_notes();
  return take_notes(only<Totals>());
}

}  // namespace convlab::emulation
