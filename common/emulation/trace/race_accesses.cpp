// The accesses of the device's threads, and which of them race.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/poison.hpp"
#include "common/emulation/trace/race_detector.hpp"

namespace convlab::emulation {
namespace {

constexpr unsigned kPageBits = 12;
constexpr std::uintptr_t kPageBytes = std::uintptr_t{1} << kPageBits;
constexpr Place kMostPlaces = 0xffffff;

}  // namespace

RaceDetector::Page& RaceDetector::page_of(std::uintptr_t address) {
  const std::uintptr_t number = address >> kPageBits;
  auto& [known, page] = latest_[number % latest_.size()];
  if (known == number && page != nullptr) return *page;
  auto& entry = pages_[number];
  if (entry == nullptr) {
    entry = std::make_unique<Page>();
    entry->cells.resize(kPageBytes >> entry->shift);
  }
  known = number;
  page = entry.get();
  return *page;
}

void RaceDetector::refine(Page& page, unsigned shift) {
  std::vector<Cell> cells(kPageBytes >> shift);
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = page.cells[i >> (page.shift - shift)];
  page.cells = std::move(cells);
  page.shift = shift;
}

void RaceDetector::note_place(Place place, unsigned rank, std::uintptr_t address) {
  if (place >= first_address_.size()) first_address_.resize(count_of_places());
  if (first_address_[place] == 0) first_address_[place] = address;
  auto& last = block_->last;
  if (place >= last.size()) last.resize(count_of_places());
  if (last[place].empty()) last[place].resize(block_->threads);
  last[place][rank] = time_;
}

std::uint64_t RaceDetector::last_of(Place place, unsigned rank) const {
  const auto& last = block_->last;
  return place < last.size() && rank < last[place].size() ? last[place][rank] : 0;
}

void RaceDetector::access(const Access& access) {
  if (block_ == nullptr) return;
  resolve_pending();
  const unsigned self = rank();
  ++time_;
  const Place place = access.place != 0 ? access.place : place_of_access(access.caller);
  Touch now{block_->base + self, now_, place & kMostPlaces, 0};
  if (access.writes) now.flags |= kWrites;
  if (worker_->in_atomic) {
    if (access.address >= worker_->atomic_begin && access.address < worker_->atomic_end) return;
  } else if (access.is_volatile) {
    now.flags |= kVolatile;
    order_by_word(access.address, !access.writes, access.writes, 0);
    now.stamp = now_;
  }
  note_place(place, self, access.address);
  touch(access.address, access.bytes, now);
}

void RaceDetector::access_by_warp(const void* address, std::size_t bytes, std::size_t /*part*/,
                                  bool writes, const CallSite& site) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (block_ == nullptr || !is_traced_memory(begin)) return;
  resolve_pending();
  ++time_;
  const unsigned first = rank() / kWarpSize * kWarpSize;
  const Place place = place_of_call(site);
  for (unsigned lane = first; lane < std::min(first + kWarpSize, block_->threads); ++lane)
    note_place(place, lane, begin);
  touch(begin, bytes,
        {block_->base + first, now_, place & kMostPlaces, kByWarp | (writes ? kWrites : 0U)});
}

void RaceDetector::begin_copy(void* to, const void* from, std::size_t bytes, const CallSite& site) {
  const auto begin = reinterpret_cast<std::uintptr_t>(from);
  if (is_traced_memory(begin)) access({begin, bytes, false, false, place_of_call(site)});
  end_copy(to, bytes, site);
}

void RaceDetector::end_copy(void* to, std::size_t bytes, const CallSite& site) {
  const auto begin = reinterpret_cast<std::uintptr_t>(to);
  if (is_traced_memory(begin)) access({begin, bytes, true, false, place_of_call(site)});
  worker_->pending.reset();  // what it stores comes at another time
}

void RaceDetector::begin_atomic(const void* address, std::size_t bytes, unsigned kind,
                                const void* place) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (block_ == nullptr || !is_traced_memory(begin)) return;
  resolve_pending();
  ++time_;
  const unsigned self = rank();
  const Place at = place_of_access(place);
  note_place(at, self, begin);
  const bool writes = (kind & kAtomicReads) == 0;
  order_by_word(begin, true, writes, kind);
  touch(begin, bytes,
        {block_->base + self, now_, at & kMostPlaces,
         kAtomic | (writes ? kWrites : 0U) | ((kind & kAtomicInBlock) != 0 ? kInBlock : 0U)});
  if (!block_->extra.empty()) {
    Thread& own = block_->extra[self];
    own.may_release = false;
    if ((kind & kAtomicOrders) != 0)
      for (const auto& [word, stamp] : std::exchange(own.seen, {})) own.settled[word] = stamp;
  }
  worker_->in_atomic = true;
  worker_->atomic_begin = begin;
  worker_->atomic_end = begin + bytes;
}

void RaceDetector::end_atomic() {
  worker_->in_atomic = false;
}

void RaceDetector::verify(const void* address) {
  auto& pending = worker_->pending;
  if (pending && (pending->race.second.flags & kWrites) == 0 &&
      pending->address == reinterpret_cast<std::uintptr_t>(address))
    pending.reset();
}

void RaceDetector::begin_object(const void* object, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(object);
  if (block_ != nullptr && is_traced_memory(begin))
    touch(begin, bytes, {block_->base, now_, 0, kObject});
}

void RaceDetector::touch(std::uintptr_t address, std::size_t bytes, const Touch& now) {
  const std::uintptr_t end = address + bytes;
  const bool in_shared = is_shared(reinterpret_cast<const void*>(address));
  for (std::uintptr_t at = address; at < end;) {
    Page& page = page_of(at);
    const std::uintptr_t page_end = (at | (kPageBytes - 1)) + 1;
    const std::uintptr_t stop = std::min(end, page_end);
    while (((at | stop) & ((std::uintptr_t{1} << page.shift) - 1)) != 0)
      refine(page, page.shift - 1);
    const std::uintptr_t step = std::uintptr_t{1} << page.shift;
    for (; at < stop; at += step) {
      Cell& cell = page.cells[(at & (kPageBytes - 1)) >> page.shift];
      touch_cell(cell, at, step, in_shared, now);
      // A whole access: a vector, or a struct, may have parts that nobody needs.
      if (at == address && cell.write.unit == 0 && (now.flags & (kWrites | kTransfer)) == 0)
        note_unwritten(now, address, bytes);
    }
  }
}

void RaceDetector::touch_cell(Cell& cell, std::uintptr_t address, std::size_t bytes, bool in_shared,
                              const Touch& now) {
  if ((now.flags & kObject) != 0) {
    cell = {.write = now};
    return;
  }
  const bool is_stale =
      cell.write.unit != 0 && in_shared && cell.write.unit - block_->base >= block_->threads;
  if ((cell.write.flags & kObject) != 0 && !is_stale) return;
  if (is_stale) cell = {};
  // Of another thread, and not before the last barrier of the block: most are.
  const auto is_other = [&](const Touch& touch) {
    return touch.unit != 0 &&
           (touch.unit != now.unit || ((touch.flags | now.flags) & kByWarp) != 0) &&
           (touch.unit - block_->base >= block_->threads || touch.stamp > block_->barrier);
  };
  // A thread that changed a word atomically after other blocks did may then clear it: the last
  // block of a grid does so with its ticket.
  const bool saw_earlier = cell.write.unit == now.unit && (now.flags & kWrites) != 0 &&
                           (cell.write.flags & cell.earlier.flags & kAtomic) != 0 &&
                           cell.earlier.unit - block_->base >= block_->threads;
  for (const Touch* const write : {&cell.write, &cell.earlier}) {
    if (write == &cell.earlier && saw_earlier) continue;
    if (is_other(*write)) compare(*write, now, address, cell, bytes);
  }
  constexpr int kStrong = kAtomic | kVolatile;
  const bool is_strong = (now.flags & kStrong) != 0 && (cell.write.flags & kStrong) != 0;
  const bool reads = (now.flags & kWrites) == 0 || (now.flags & kAtomic) != 0;
  if (is_strong && reads && cell.write.unit != now.unit)
    thread(now.unit - block_->base).seen[address] = cell.write.stamp;
  if ((now.flags & kWrites) == 0) {
    add_read(cell, now);
    return;
  }
  std::array<Touch, 3> still{};  // the next write may race with these, too
  for (std::size_t i = 0; i < still.size(); ++i) {
    const Touch& read = cell.reads[i];
    if (read.unit == 0 || (in_shared && read.unit - block_->base >= block_->threads)) continue;
    if (is_other(read) && !compare(read, now, address, cell, bytes)) still[i] = read;
  }
  const auto is_near = [&](const Touch& touch) {
    return touch.unit / kWarpSize == now.unit / kWarpSize;
  };
  if ((now.flags & kAtomic) == 0)
    cell.earlier = {};
  else if ((cell.write.flags & kAtomic) == 0)
    cell.earlier = cell.write;
  else if (cell.write.unit != now.unit &&
           (cell.earlier.unit == 0 || !is_near(cell.write) ||
            (is_near(cell.earlier) && (cell.earlier.flags & kAtomic) != 0)))
    cell.earlier = cell.write;
  cell.write = now;
  cell.reads = still;
}

void RaceDetector::add_read(Cell& cell, const Touch& now) {
  auto& [latest, lane, warp] = cell.reads;
  if (latest.unit == now.unit) {
    latest = now;
    return;
  }
  if (latest.unit / kWarpSize == now.unit / kWarpSize) {
    lane = latest;
  } else if (latest.unit != 0) {
    lane = warp.unit / kWarpSize == now.unit / kWarpSize && warp.unit != now.unit ? warp : Touch{};
    warp = latest;
  }
  latest = now;
}

void RaceDetector::note_unwritten(const Touch& now, std::uintptr_t address, std::size_t bytes) {
  if (unwritten_.contains(now.place) ||
      !is_unwritten(reinterpret_cast<const void*>(address), bytes))
    return;
  FaultRecord& record = unwritten_[now.place];
  const RaceSide side = side_of(now);
  record.kernel = grids_.back().name;
  record.file = side.file;
  record.line = side.line;
  record.block = side.block;
  record.thread = side.thread;
  record.memory = memory_at(reinterpret_cast<const void*>(address));
}

// ---- races --------------------------------------------------------------------------------------

RaceDetector::ProgramOrder RaceDetector::program_order(const Touch& before,
                                                       const Touch& now) const {
  const Unit base = block_->base;
  if (before.unit - base >= block_->threads)
    return before.stamp >= grids_.back().begin ? ProgramOrder::kByLine : ProgramOrder::kFirstBefore;
  const unsigned p = before.unit - base;
  const unsigned q = now.unit - base;
  const bool same_warp = p / kWarpSize == q / kWarpSize;
  const auto& phase = same_warp ? block_->warp_phase : block_->phase;
  if (last_of(before.place, q) > phase[q]) return ProgramOrder::kFirstBefore;
  const std::uint64_t there = last_of(now.place, p);
  if (there <= phase[p]) return ProgramOrder::kByLine;
  return there > last_of(before.place, p) ? ProgramOrder::kFirstBefore
                                          : ProgramOrder::kSecondBefore;
}

// Whether another lane did the same with the word beside it: volatile data, no flag.
bool RaceDetector::is_one_of_many(const Touch& before, std::uintptr_t address, std::size_t bytes) {
  if ((before.flags & kAtomic) != 0) return false;
  const auto is_like = [&](const Touch& touch) {
    return touch.place == before.place && touch.unit != before.unit &&
           touch.unit / kWarpSize == before.unit / kWarpSize;
  };
  for (const std::uintptr_t beside : {address - bytes, address + bytes}) {
    const Page& page = page_of(beside);
    const Cell& cell = page.cells[(beside & (kPageBytes - 1)) >> page.shift];
    if (is_like(cell.write) || std::ranges::any_of(cell.reads, is_like)) return true;
  }
  return false;
}

bool RaceDetector::has_settled(std::uintptr_t address, Stamp stamp) const {
  const auto knows = [&](const Writes& writes) {
    const auto found = writes.find(address);
    return found != writes.end() && stamp <= found->second;
  };
  return knows(block_->settled) || (!block_->extra.empty() && knows(block_->extra[rank()].settled));
}

// Of two accesses that nothing orders, whether they are those of a flag.
bool RaceDetector::is_flag(const Touch& before, const Touch& now, std::uintptr_t address) const {
  constexpr int kStrong = kAtomic | kVolatile;
  if ((before.flags & kStrong) == 0 || (now.flags & kStrong) == 0) return false;
  const bool both_write = (before.flags & now.flags & kWrites) != 0;
  // The thread read what the other one wrote, then came to a fence or a barrier.
  if (both_write && has_settled(address, before.stamp)) return true;
  if (flags_.contains(word_)) return !both_write || ((before.flags | now.flags) & kAtomic) != 0;
  if (both_write) return false;
  // A volatile read of what is changed atomically.
  if (((before.flags | now.flags) & kAtomic) != 0) return true;
  // A store after a fence, of a word that the other one has read before.
  return (now.flags & kWrites) != 0 &&
         (block_->extra.empty()
              ? !block_->block_fenced.known.empty()
              : block_->extra[rank()].may_release || !block_->block_fenced.known.empty());
}

bool RaceDetector::compare(const Touch& before, const Touch& now, std::uintptr_t address,
                           const Cell& cell, std::size_t bytes) {
  const bool same_block = before.unit - block_->base < block_->threads;
  const bool same_warp = before.unit / kWarpSize == now.unit / kWarpSize;
  const bool both_atomic = (before.flags & now.flags & kAtomic) != 0;
  if (both_atomic && (same_block || ((before.flags | now.flags) & kInBlock) == 0)) return true;
  if (is_known(before, now)) return true;
  // Lanes of one warp may not count on a flag, but who polls what another one changes atomically
  // reads the old or the new value, as between warps.
  const bool one_atomic = ((before.flags | now.flags) & kAtomic) != 0;
  if ((!same_warp || one_atomic) && !both_atomic && is_flag(before, now, address) &&
      !(same_block && is_one_of_many(before, address, bytes)))
    return true;
  Race race{.first = before, .second = now, .address = address};
  race.scope = same_warp                             ? RaceScope::kWarp
               : same_block                          ? RaceScope::kBlock
               : before.stamp >= grids_.back().begin ? RaceScope::kGrid
                                                     : RaceScope::kStreams;
  const bool both_write = (before.flags & now.flags & kWrites) != 0;
  if (both_write) {
    race.updates = std::ranges::any_of(cell.reads, [&](const Touch& read) {
      return read.unit == now.unit && read.stamp == now.stamp;
    });
  }
  race.order = program_order(before, now);
  if (race.scope == RaceScope::kBlock && block_->barrier == 0) {
    for (const Unit unit : {now.unit, before.unit}) {
      const Warp& warp = block_->warps[(unit - block_->base) / kWarpSize];
      if (warp.call == nullptr) continue;
      race.between = warp.call;
      race.between_site = warp.site;
    }
  }
  constexpr int kPlain = kAtomic | kByWarp | kTransfer;
  const bool may_be_verified = (before.flags & kAtomic) != 0 && now.flags == 0;
  if (!may_be_verified &&
      (!both_write || race.updates || ((before.flags | now.flags) & kPlain) != 0)) {
    tell(race);
    return false;
  }
  auto& pending = worker_->pending;
  if (pending) return false;  // another word of the same access
  pending.emplace(
      Pending{.address = address, .bytes = std::min<std::size_t>(bytes, 16), .race = race});
  std::memcpy(pending->before.data(), reinterpret_cast<const void*>(address), pending->bytes);
  return false;
}

void RaceDetector::resolve_pending() {
  if (!worker_->pending) return;
  const Pending pending = *std::exchange(worker_->pending, std::nullopt);
  const void* const at = reinterpret_cast<const void*>(pending.address);
  if ((pending.race.second.flags & kWrites) == 0 ||
      std::memcmp(pending.before.data(), at, pending.bytes) != 0)
    tell(pending.race);
}

}  // namespace convlab::emulation
