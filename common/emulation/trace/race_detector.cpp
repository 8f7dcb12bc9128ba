// What orders the threads of the device: blocks, barriers, meetings of warps, grids.
#include "common/emulation/trace/race_detector.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "common/emulation/include/convlab_emulation/vector_types.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/handles.hpp"
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
    each.known.forget(block.base, block.base + block.threads, block.barrier);
    block.known.join(each.known);
    block.fenced.join(each.fenced);
    each = {};
  }
  for (Warp& warp : block.warps) warp.known.reset();
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
  if (lanes == BlockRunner::current()->warps().live_lanes(first_rank)) {
    warp.all = now_++;
    warp.known.reset();
  } else {
    if (!warp.known) warp.known = std::make_unique<LaneTable>();
    std::array<Stamp, kWarpSize> together{};
    for (const int lane : LaneRange(lanes)) {
      auto& known = (*warp.known)[static_cast<std::size_t>(lane)];
      known[static_cast<std::size_t>(lane)] = now_;
      for (std::size_t i = 0; i < kWarpSize; ++i) together[i] = std::max(together[i], known[i]);
    }
    for (const int lane : LaneRange(lanes))
      (*warp.known)[static_cast<std::size_t>(lane)] = together;
    ++now_;
  }
  if (block.extra.empty()) return;
  Clock all;
  for (const int lane : LaneRange(lanes))
    all.join(block.extra[first_rank + static_cast<unsigned>(lane)].known);
  if (all.empty()) return;
  for (const int lane : LaneRange(lanes))
    block.extra[first_rank + static_cast<unsigned>(lane)].known = all;
}

void RaceDetector::met_in_part(std::uint32_t warps) {
  std::uint32_t live = 0;
  for (unsigned warp = 0; warp < block_->warps.size(); ++warp)
    if (BlockRunner::current()->warps().live_lanes(warp * kWarpSize) != 0) live |= 1U << warp;
  if (warps == live) return met_in_block("bar.sync", {});
  resolve_pending();
  Clock all;
  for (unsigned rank = 0; rank < block_->threads; ++rank) {
    if ((warps >> rank / kWarpSize & 1U) == 0) continue;
    all.join(thread(rank).known);
    const Unit first = block_->base + rank / kWarpSize * kWarpSize;
    all.add(first, first + kWarpSize, now_);
  }
  for (unsigned rank = 0; rank < block_->threads; ++rank)
    if ((warps >> rank / kWarpSize & 1U) != 0) thread(rank).known = all;
  ++now_;
}

Clock RaceDetector::snapshot(unsigned rank) {
  const Block& block = *block_;
  const Warp& warp = block.warps[rank / kWarpSize];
  Clock result = block.known;
  if (!block.extra.empty()) result.join(block.extra[rank].known);
  const Unit self = block.base + rank;
  const Unit first = self / kWarpSize * kWarpSize;
  if (block.barrier > 0) result.add(block.base, block.base + block.threads, block.barrier);
  if (warp.all > block.barrier) result.add(first, first + kWarpSize, warp.all);
  if (warp.known) {
    const auto& known = (*warp.known)[rank % kWarpSize];
    for (Unit lane = 0; lane < kWarpSize; ++lane)
      if (known[lane] > 0) result.add(first + lane, first + lane + 1, known[lane]);
  }
  result.add(self, self + 1, now_++);
  return result;
}

void RaceDetector::fence() {
  if (block_ == nullptr) return;
  thread(rank()).fenced = snapshot(rank());
}

void RaceDetector::release(const void* object) {
  if (block_ != nullptr) released_[reinterpret_cast<std::uintptr_t>(object)].join(snapshot(rank()));
}

void RaceDetector::acquire(const void* object) {
  if (block_ == nullptr) return;
  const auto found = released_.find(reinterpret_cast<std::uintptr_t>(object));
  if (found != released_.end()) thread(rank()).known.join(found->second);
}

// A volatile access orders like an atomic one: after a fence.
void RaceDetector::order_by_word(std::uintptr_t address, bool writes, bool orders) {
  const unsigned self = rank();
  if (!released_.empty()) acquire(reinterpret_cast<const void*>(address));
  if (!writes) return;
  if (orders) {
    release(reinterpret_cast<const void*>(address));
    return;
  }
  const bool has_own = !block_->extra.empty() && !block_->extra[self].fenced.empty();
  if (!has_own && block_->fenced.empty()) return;
  Clock& released = released_[address];
  released.join(block_->fenced);
  if (has_own) released.join(block_->extra[self].fenced);
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
    if (other / kWarpSize == rank / kWarpSize) {
      const Warp& warp = block.warps[rank / kWarpSize];
      if (before.stamp <= warp.all) return true;
      if (warp.known && before.stamp <= (*warp.known)[rank % kWarpSize][other % kWarpSize])
        return true;
    }
  } else if (before_grid(before.stamp) ||
             (before.stamp >= grids_.back().begin && before.stamp <= grids_.back().synced) ||
             block.known.knows(before.unit, before.stamp)) {
    return true;
  }
  return !block.extra.empty() && block.extra[rank].known.knows(before.unit, before.stamp);
}

bool RaceDetector::is_known(const Touch& before, const Touch& now) const {
  const auto unit_of = [](const Touch& touch, Unit lane) {
    Touch one = touch;
    one.unit += lane;
    return one;
  };
  const Unit before_lanes = (before.flags & kByWarp) != 0 ? kWarpSize : 1;
  const Unit now_lanes = (now.flags & kByWarp) != 0 ? kWarpSize : 1;
  if (before_lanes == 1 && now_lanes == 1)
    return before.unit == now.unit || known_to(now.unit - block_->base, before);
  for (Unit b = 0; b < before_lanes; ++b) {
    const Touch one = unit_of(before, b);
    for (Unit n = 0; n < now_lanes; ++n) {
      const Unit lane = now.unit + n;
      if (lane - block_->base >= block_->threads || lane == one.unit) continue;
      if (!known_to(lane - block_->base, one)) return false;
    }
  }
  return true;
}

}  // namespace convlab::emulation
