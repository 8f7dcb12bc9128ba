// What orders the threads of the device: blocks, barriers, meetings of warps, grids. And what is
// told of the races.
#include "common/emulation/trace/race_detector.hpp"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/stream.hpp"

namespace convlab::emulation {

// ---- what the running block is ------------------------------------------------------------------

void RaceDetector::resume_block() {
  thread_local Worker worker;
  worker_ = &worker;
  block_ = worker.block.get();
}

unsigned RaceDetector::rank() {
  return static_cast<unsigned>(BlockRunner::current()->thread().rank);
}

void RaceDetector::begin_grid(const KernelCall& call) {
  Grid grid{.begin = ++now_,
            .name = call.name,
            .launch = call.site,
            .size = call.grid,
            .block = call.block};
  if (const RunningWork* const work = streams().running_work()) {
    grid.stream = work->stream;
    grid.number = work->number;
    grid.before = work->before;
  }
  grids_.push_back(std::move(grid));
  safe_ = now_ - 1;
  for (const Grid& earlier : grids_) {
    if (&earlier == &grids_.back()) break;
    const auto& before = grids_.back().before;
    const auto done = before.find(earlier.stream);
    const bool is_before = earlier.stream == grids_.back().stream ||
                           (done != before.end() && earlier.number <= done->second);
    if (!is_before) safe_ = std::min(safe_, earlier.begin - 1);
  }
}

// A kernel of one thread; what its host memory holds is the host's matter.
void RaceDetector::begin_transfer(const char* function, const void* from, std::size_t read,
                                  const void* to, std::size_t written) {
  if (streams().running_work() == nullptr) return;
  KernelCall call;
  call.name = function;
  begin_grid(call);
  grids_.back().is_transfer = true;
  make_block(1, {});
  for (const auto& [pointer, bytes, flags] : {std::tuple(from, read, 0), {to, written, kWrites}}) {
    const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
    if (bytes == 0 || !is_traced_memory(begin)) continue;
    touch(begin, bytes, {block_->base, now_, 0, static_cast<std::uint8_t>(flags | kTransfer)});
  }
  worker_->block.reset();
  block_ = nullptr;
}

void RaceDetector::begin_block() {
  make_block(blockDim.x * blockDim.y * blockDim.z, blockIdx);
}

void RaceDetector::make_block(unsigned threads, const uint3& index) {
  resume_block();
  next_unit_ = (next_unit_ + kWarpSize - 1) / kWarpSize * kWarpSize;
  *worker_ = {};
  worker_->block = std::make_unique<Block>();
  block_ = worker_->block.get();
  block_->base = next_unit_;
  block_->threads = threads;
  block_->warps.resize((block_->threads + kWarpSize - 1) / kWarpSize);
  block_->phase.assign(block_->threads, time_);
  block_->warp_phase.assign(block_->threads, time_);
  next_unit_ += block_->threads;
  blocks_.push_back({block_->base, index, static_cast<std::uint32_t>(grids_.size() - 1)});
}

void RaceDetector::end_block() {
  resolve_pending();
  worker_->block.reset();
  block_ = nullptr;
}

const RaceDetector::BlockOf& RaceDetector::block_of(Unit unit) const {
  const auto behind =
      std::upper_bound(blocks_.begin(), blocks_.end(), unit,
                       [](Unit value, const BlockOf& each) { return value < each.base; });
  return *std::prev(behind);
}

RaceDetector::Thread& RaceDetector::thread(unsigned rank) {
  if (block_->extra.empty()) block_->extra.resize(block_->threads);
  return block_->extra[rank];
}

// ---- what orders threads ------------------------------------------------------------------------

void RaceDetector::met_in_block(const char* call, const CallSite& /*site*/) {
  if (block_ == nullptr) return;
  resolve_pending();
  Block& block = *block_;
  block.barrier = now_++;
  std::fill(block.phase.begin(), block.phase.end(), time_);
  std::fill(block.warp_phase.begin(), block.warp_phase.end(), time_);
  for (Thread& each : block.extra) {
    block.known.join(each.known);
    for (const auto& [all, one] :
         {std::pair{&block.fenced, &each.fenced}, {&block.block_fenced, &each.block_fenced}}) {
      all->known.join(one->known);
      if (one->stamp > all->stamp) all->unit = one->unit, all->stamp = one->stamp;
    }
    for (const Writes* const writes : {&each.seen, &each.settled})
      for (const auto& [word, stamp] : *writes)
        block.settled[word] = std::max(block.settled[word], stamp);
    each = {};
  }
  block.known.forget_block(block.base, block.threads);
  if (std::strcmp(call, "grid_group::sync") != 0) return;
  // None of them goes on before the last one has come.
  Grid& grid = grids_.back();
  const std::uint64_t blocks = std::uint64_t{grid.size.x} * grid.size.y * grid.size.z;
  if (++grid.meeting < blocks) return;
  grid.meeting = 0;
  grid.synced = now_++;
}

void RaceDetector::met_in_warp(unsigned first_rank, const WarpOperation& operation,
                               std::uint32_t lanes, const CallSite& site) {
  if (block_ == nullptr) return;
  resolve_pending();
  if (!operation.orders) return;
  Block& block = *block_;
  Warp& warp = block.warps[first_rank / kWarpSize];
  warp.call = operation.name;
  warp.site = site;
  for (const int lane : LaneRange(lanes))
    block.warp_phase[first_rank + static_cast<unsigned>(lane)] = time_;
  const bool is_whole = lanes == BlockRunner::current()->warps().live_lanes(first_rank);
  if (is_whole) warp.all = now_++;
  if (is_whole && block.extra.empty()) return;
  std::vector<unsigned> ranks;
  for (const int lane : LaneRange(lanes)) ranks.push_back(first_rank + static_cast<unsigned>(lane));
  meet(ranks, is_whole);
}

void RaceDetector::meet(const std::vector<unsigned>& ranks, bool is_whole_warp) {
  Clock all;
  for (const unsigned rank : ranks) {
    all.join(thread(rank).known);
    if (!is_whole_warp) all.add_thread(block_->base + rank, now_);
  }
  for (const unsigned rank : ranks) thread(rank).known = all;
  ++now_;
}

void RaceDetector::met_in_part(std::uint32_t warps) {
  std::uint32_t live = 0;
  for (unsigned warp = 0; warp < block_->warps.size(); ++warp)
    if (BlockRunner::current()->warps().live_lanes(warp * kWarpSize) != 0) live |= 1U << warp;
  if (warps == live) return met_in_block("bar.sync", {});
  resolve_pending();
  std::vector<unsigned> ranks;
  for (unsigned rank = 0; rank < block_->threads; ++rank)
    if ((warps >> rank / kWarpSize & 1U) != 0) ranks.push_back(rank);
  meet(ranks, false);
}

/// Adds what the thread knows now, and what it has done.
void RaceDetector::tell_all(unsigned rank, Clock& clock) {
  const Block& block = *block_;
  const Warp& warp = block.warps[rank / kWarpSize];
  clock.join(block.known);
  if (!block.extra.empty()) clock.join(block.extra[rank].known);
  const Unit self = block.base + rank;
  if (block.barrier > 0) clock.add_block(block.base, block.barrier);
  if (warp.all > block.barrier) clock.add_warp(self / kWarpSize * kWarpSize, warp.all);
  clock.add_thread(self, now_++);
}

RaceDetector::Fence RaceDetector::fence_of(unsigned rank) {
  Fence fence{.unit = block_->base + rank, .stamp = now_};
  tell_all(rank, fence.known);
  return fence;
}

void RaceDetector::fence(bool in_block) {
  if (block_ == nullptr) return;
  const unsigned self = rank();
  Thread& own = thread(self);
  own.block_fenced = fence_of(self);
  if (!in_block) own.fenced = own.block_fenced;
  own.may_release = true;
  for (const auto& [word, stamp] : std::exchange(own.seen, {})) own.settled[word] = stamp;
}

// Another block's shared memory lies at the same addresses.
RaceDetector::Released& RaceDetector::released_near(const void* object) {
  return is_shared(object) ? block_->released : released_;
}

void RaceDetector::release(const void* object) {
  if (block_ == nullptr) return;
  Fence& released = released_near(object)[reinterpret_cast<std::uintptr_t>(object)];
  tell_all(rank(), released.known);
}

void RaceDetector::acquire(const void* object) {
  if (block_ == nullptr) return;
  const Released& released = released_near(object);
  const auto found = released.find(reinterpret_cast<std::uintptr_t>(object));
  if (found != released.end()) thread(rank()).known.join(found->second.known);
}

// A fence of the other thread, of which this one did not know: the word is a flag.
void RaceDetector::acquire_word(const Released& released, std::uintptr_t address) {
  const auto found = released.find(address);
  if (found == released.end()) return;
  const Fence& fence = found->second;
  const unsigned self = rank();
  if (fence.unit != 0 && fence.unit != block_->base + self &&
      !known_to(self, {.unit = fence.unit, .stamp = fence.stamp}))
    flags_.insert(address);
  thread(self).known.join(fence.known);
}

// A volatile access orders like an atomic one: after a fence.
void RaceDetector::order_by_word(std::uintptr_t address, bool reads, bool writes, unsigned kind) {
  word_ = address;
  const unsigned self = rank();
  const void* const word = reinterpret_cast<const void*>(address);
  Released& for_all = released_near(word);
  const bool in_block = (kind & kAtomicInBlock) != 0;
  // What another block released for all is nothing to an operation of this block's scope.
  if (reads && (!in_block || &for_all == &block_->released)) acquire_word(for_all, address);
  if (reads && &for_all != &block_->released) acquire_word(block_->released, address);
  if (!writes) return;
  const auto release_to = [&](Released& to, const Fence& of_block, const Fence* own) {
    if (own == nullptr && of_block.known.empty()) return;
    Fence& released = to[address];
    released.known.join(of_block.known);
    const Fence& latest = own != nullptr && own->stamp >= of_block.stamp ? *own : of_block;
    if (own != nullptr) released.known.join(own->known);
    released.unit = latest.unit, released.stamp = latest.stamp;
  };
  if ((kind & kAtomicOrders) != 0) {
    const Fence fence = fence_of(self);
    Fence& released = (in_block ? block_->released : for_all)[address];
    released.known.join(fence.known);
    released.unit = fence.unit, released.stamp = fence.stamp;
    return;
  }
  const Thread* const own = block_->extra.empty() ? nullptr : &block_->extra[self];
  const auto fence_or_null = [&](Fence Thread::*fence) {
    return own != nullptr && !(own->*fence).known.empty() ? &(own->*fence) : nullptr;
  };
  release_to(block_->released, block_->block_fenced, fence_or_null(&Thread::block_fenced));
  if (!in_block && &for_all != &block_->released)
    release_to(for_all, block_->fenced, fence_or_null(&Thread::fenced));
}

// ---- whether a thread knows what another one did ------------------------------------------------

bool RaceDetector::before_grid(Stamp stamp) const {
  if (stamp <= safe_) return true;
  const Grid& self = grids_.back();
  if (stamp >= self.begin) return false;
  const auto behind =
      std::upper_bound(grids_.begin(), grids_.end(), stamp,
                       [](Stamp value, const Grid& each) { return value < each.begin; });
  const Grid& earlier = *std::prev(behind);
  const auto done = self.before.find(earlier.stream);
  return earlier.stream == self.stream ||
         (done != self.before.end() && earlier.number <= done->second);
}

bool RaceDetector::known_to(unsigned rank, const Touch& before) const {
  const Block& block = *block_;
  const bool same_block = before.unit - block.base < block.threads;
  if (same_block) {
    if (before.stamp <= block.barrier) return true;
    const unsigned other = before.unit - block.base;
    const bool same_warp = other / kWarpSize == rank / kWarpSize;
    if (same_warp && before.stamp <= block.warps[rank / kWarpSize].all) return true;
  } else if (before_grid(before.stamp) ||
             (before.stamp >= grids_.back().begin && before.stamp <= grids_.back().synced) ||
             block.known.knows(before.unit, block_of(before.unit).base, before.stamp)) {
    return true;
  }
  return !block.extra.empty() &&
         block.extra[rank].known.knows(before.unit, block_of(before.unit).base, before.stamp);
}

bool RaceDetector::is_known(const Touch& before, const Touch& now) const {
  const Unit before_lanes = (before.flags & kByWarp) != 0 ? kWarpSize : 1;
  const Unit now_lanes = (now.flags & kByWarp) != 0 ? kWarpSize : 1;
  for (Unit b = 0; b < before_lanes; ++b) {
    Touch one = before;
    one.unit += b;
    for (Unit n = 0; n < now_lanes; ++n) {
      const Unit lane = now.unit + n;
      if (lane - block_->base >= block_->threads || lane == one.unit) continue;
      if (!known_to(lane - block_->base, one)) return false;
    }
  }
  return true;
}

// ---- what is told of the races that were met ----------------------------------------------------

constexpr std::size_t kMostRaces = 256;

void RaceDetector::tell(const Race& race) {
  const std::uint64_t key =
      (std::uint64_t{race.first.place} << 32U) ^ (std::uint64_t{race.second.place} << 8U) ^
      (static_cast<std::uint64_t>(race.scope) << 4U) ^ (race.first.flags & kWrites) << 1U ^
      (race.second.flags & kWrites) ^ (race.updates ? 8U : 0U);
  if (races_.size() == kMostRaces || !known_races_.try_emplace(key, races_.size()).second) return;
  races_.push_back(race);
  races_.back().number = races_.size();
  races_.back().memory = memory_at(reinterpret_cast<const void*>(race.address),
                                   grids_[block_of(by_thread(race).unit).grid].name);
}

RaceSide RaceDetector::side_of(const Touch& touch) const {
  const BlockOf& block = block_of(touch.unit);
  const Grid& grid = grids_[block.grid];
  if (grid.is_transfer) return {.writes = (touch.flags & kWrites) != 0, .call = grid.name};
  const dim3& size = grid.block;
  const Unit rank = touch.unit - block.base;
  const ReportPlace& place = source_of(touch.place);
  return {.file = name_of(place.file),
          .line = static_cast<int>(place.line),
          .block = array_of(block.index),
          .thread = {rank % size.x, rank / size.x % size.y, rank / size.x / size.y},
          .writes = (touch.flags & kWrites) != 0,
          .atomic = (touch.flags & kAtomic) != 0,
          .by_warp = (touch.flags & kByWarp) != 0};
}

FaultRecord RaceDetector::record_of(const Race& race) const {
  const Grid& grid = grids_[block_of(by_thread(race).unit).grid];
  FaultRecord record{.kind = FaultKind::kRace,
                     .text = "two threads use one element, and nothing orders them",
                     .kernel = grid.name,
                     .has_thread = true,
                     .memory = race.memory,
                     .launch_line = static_cast<int>(grid.launch.line),
                     .grid = {grid.size.x, grid.size.y, grid.size.z},
                     .block_size = {grid.block.x, grid.block.y, grid.block.z}};
  RaceFacts facts{.scope = race.scope,
                  .first = side_of(race.first),
                  .second = side_of(race.second),
                  .updates = race.updates};
  if (race.order == ProgramOrder::kSecondBefore ||
      (race.order == ProgramOrder::kByLine && facts.second.line < facts.first.line))
    std::swap(facts.first, facts.second);
  if (race.between != nullptr) {
    facts.between = race.between;
    facts.between_line = static_cast<int>(race.between_site.line);
  }
  record.file = facts.second.file;
  record.line = facts.second.line;
  record.block = facts.second.block;
  record.thread = facts.second.thread;
  record.writes = facts.second.writes;
  record.race = std::move(facts);
  return record;
}

// All places that touch what lanes of a warp race on: if lanes meet there, they read and write in
// the order of the program.
std::string RaceDetector::meeting_places() const {
  std::set<std::uintptr_t> places;
  for (const Race& race : races_) {
    if (race.scope != RaceScope::kWarp) continue;
    const std::uintptr_t begin = race.address - static_cast<std::uintptr_t>(race.memory.offset);
    const std::uintptr_t end = begin + static_cast<std::uintptr_t>(race.memory.bytes);
    for (Place place = 1; place < first_address_.size(); ++place) {
      if (first_address_[place] < begin || first_address_[place] >= end) continue;
      if (const auto address = address_in_program(place)) places.insert(address);
    }
  }
  std::ostringstream list;
  list << std::hex;
  for (const auto place : places) list << (place == *places.begin() ? "" : ",") << place;
  return list.str();
}

std::vector<FaultRecord> RaceDetector::all() {
  const auto worth = [](const Race& race) {
    const bool both_write = (race.first.flags & race.second.flags & kWrites) != 0;
    const bool one_place = both_write && race.first.place == race.second.place;
    const bool in_warp = race.scope == RaceScope::kWarp;
    const bool no_thread = (race.first.flags & race.second.flags & kTransfer) != 0;
    // What a flag would have ordered says more than the flag.
    const bool may_be_flag = !in_warp && (race.first.flags & race.second.flags & kVolatile) != 0;
    return std::tuple(no_thread, may_be_flag, in_warp && !both_write, !race.updates, !one_place,
                      in_warp, race.number);
  };
  std::ranges::sort(races_, {}, worth);
  std::set<std::tuple<std::string, int, int>> told;
  std::vector<FaultRecord> records;
  for (const Race& race : races_) {
    FaultRecord record = record_of(race);
    if (told.emplace(record.kernel, record.race->first.line, record.race->second.line).second)
      records.push_back(std::move(record));
  }
  return records;
}

std::vector<FaultRecord> RaceDetector::unwritten() const {
  std::vector<FaultRecord> records;
  std::set<std::tuple<std::string, std::string, int>> told;
  for (const auto& [place, record] : unwritten_)
    if (told.emplace(record.kernel, record.file, record.line).second) records.push_back(record);
  return records;
}

std::optional<FaultRecord> RaceDetector::take() {
  std::optional<FaultRecord> result;
  if (const auto records = all(); !records.empty()) {
    result = records.front();
    result->race->meeting_places = meeting_places();
  }
  pages_.clear();
  latest_ = {};
  released_.clear();
  flags_.clear();
  unwritten_.clear();
  races_.clear();
  known_races_.clear();
  blocks_.clear();
  grids_.clear();
  first_address_.clear();
  next_unit_ = kWarpSize;
  now_ = 1;
  safe_ = 0;
  return result;
}

}  // namespace convlab::emulation
