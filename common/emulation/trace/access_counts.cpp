#include "common/emulation/trace/access_counts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/access_notes.hpp"
#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/symbol_table.hpp"

namespace convlab::emulation {
namespace {

constexpr std::uintptr_t kWord = 4;

/// A place and what is done there: a copy reads and writes at one place.
using Spot = std::uint64_t;
Spot spot_of(Place place, bool writes) {
  return Spot{place} << 1U | (writes ? 1U : 0U);
}

/// One spot of the program in the running block.
struct SpotInBlock {
  Space space = Space::kOther;
  std::size_t bytes = 0;
  bool atomic = false;
  std::string variable{};                      ///< of shared memory
  std::vector<std::uint32_t> times;            ///< by thread
  std::vector<std::vector<Request>> requests;  ///< by warp, then by how often a lane had come
  std::vector<Request> fragments;              ///< not full yet, by column
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

struct Barrier {
  std::string kernel{};
  std::int64_t times = 0;
};

/// The variable of each need, and how many pairs of accesses have it.
struct NeedCount {
  std::string variable{};
  std::string kernel{};
  std::int64_t pairs = 0;
};

/// Everything that is counted. One worker runs the kernels (CONVLAB_EMU_THREADS=1); the host only
/// takes the result when they are over.
struct Counter {
  std::mutex mutex;
  std::uint64_t block = 0;
  std::unordered_map<Spot, SpotInBlock> spots;
  std::array<std::pair<Spot, SpotInBlock*>, 64> latest{};  ///< of `spots`
  std::uintptr_t atomic = 0;  ///< the address of the operation that has begun; 0: none
  bool atomic_counted = false;
  std::unordered_map<std::uintptr_t, Word> words;
  std::vector<std::uint32_t> barriers;                        ///< passed, by thread
  std::vector<CallSite> sites;                                ///< of the block's barriers, in order
  std::map<std::pair<std::string, Spot>, AccessNote> totals;  ///< by kernel, over all blocks
  std::string kernel;                                         ///< of the running block
  std::map<std::pair<const char*, std::uint64_t>, ProductNote> products;  ///< by call
  std::map<std::pair<const char*, std::uint64_t>, Barrier> met;
  std::map<Need, NeedCount> needs;
};

template <typename T>
T& at(std::vector<T>& list, std::size_t index) {
  if (index >= list.size()) list.resize(index + 1);
  return list[index];
}

void add_request(AccessNote& note, Parts parts, int lanes) {
  note.least = note.requests == 0 ? parts.all : std::min(note.least, parts.all);
  note.most = std::max(note.most, parts.all);
  note.parts += parts.all;
  note.conflicts += parts.conflicts;
  note.lanes += lanes;
  ++note.requests;
}

// Adds the block that is over to the totals.
void end_block(Counter& all) {
  for (auto& [which, spot] : all.spots) {
    AccessNote& note = all.totals[{all.kernel, which}];
    for (const std::uint32_t times : spot.times) {
      if (times > 0) ++note.threads;
      note.most_by_one = std::max<std::int64_t>(note.most_by_one, times);
    }
    for (const auto& warp : spot.requests) {
      for (const Request& request : warp) {
        add_request(note, parts_of(request, spot.space, spot.bytes, spot.atomic),
                    std::popcount(request.mask));
      }
    }
  }
  all.spots.clear();
  all.latest = {};
  all.words.clear();
  all.barriers.clear();
  all.sites.clear();
}

void begin_block_if_new(Counter& all) {
  if (all.block == current_block_number) return;
  end_block(all);
  all.block = current_block_number;
  all.kernel = BlockRunner::current()->call().name;
}

// The kind of memory, and what is known of the array when its place is met first.
Space space_of(const void* address, AccessNote& note) {
  const auto& call = BlockRunner::current()->call();
  const auto take = [&](const char* space, const ReportMemory& memory) {
    note.space = space;
    note.kernel = call.name;
    note.memory = fault_memory(memory, call.name);
  };
  if (is_shared(address)) {
    if (const auto memory = BlockRunner::current()->shared_memory().find(address)) {
      take("shared", *memory);
    }
    return Space::kShared;
  }
  if (device_memory().contains(address)) {
    if (const auto memory = device_memory().nearest(address)) take("global", *memory);
    return Space::kGlobal;
  }
  if (const auto symbol = find_symbol(address)) {
    const bool constant = symbol->kind == SymbolKind::kConstant;
    take(constant ? "constant" : "global",
         ReportMemory{.bytes = static_cast<std::int64_t>(symbol->bytes), .variable = symbol->name});
    return constant ? Space::kConstant : Space::kGlobal;
  }
  return Space::kOther;  // a local array, a parameter
}

void begin_spot(Counter& all, Spot spot, SpotInBlock& here, const void* address, std::size_t bytes,
                bool atomic) {
  AccessNote& note = all.totals[{all.kernel, spot}];
  here.bytes = bytes;
  here.atomic = atomic;
  here.space = space_of(address, note);
  here.variable = note.memory.variable;
  note.writes = (spot & 1U) != 0;
  note.atomic = atomic;
  note.bytes = static_cast<int>(bytes);
}

// The barrier between two accesses, if it is the only one.
void note_need(Counter& all, const Touch& before, bool before_writes, const Touch& behind,
               const std::string& variable) {
  if (before.thread < 0 || before.thread == behind.thread) return;
  if (behind.barriers != before.barriers + 1 || before.barriers >= all.sites.size()) return;
  NeedCount& need =
      all.needs[{all.sites[before.barriers], before.place, before_writes, behind.place}];
  if (need.pairs++ > 0) return;
  need.variable = variable;
  need.kernel = BlockRunner::current()->call().name;
}

void touch_word(Counter& all, std::uintptr_t word_address, bool writes, const Touch& now,
                const std::string& variable) {
  Word& word = all.words[word_address];
  note_need(all, word.write, true, now, variable);
  if (writes) {
    note_need(all, word.read, false, now, variable);
    note_need(all, word.other_read, false, now, variable);
    word.write = now;
  } else {
    if (word.read.thread != now.thread) word.other_read = word.read;
    word.read = now;
  }
}

void touch_shared(Counter& all, const void* address, std::size_t bytes, bool writes,
                  const Touch& now, const std::string& variable) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  for (auto word = begin / kWord; word <= (begin + bytes - 1) / kWord; ++word) {
    touch_word(all, word, writes, now, variable);
  }
}

// An unrolled loop is one line at several places of the program.
void add(std::vector<AccessNote>& notes, const AccessNote& note) {
  const auto same = std::ranges::find_if(notes, [&](const AccessNote& each) {
    return each.kernel == note.kernel && each.file == note.file && each.line == note.line &&
           each.space == note.space && each.writes == note.writes && each.atomic == note.atomic &&
           each.bytes == note.bytes && each.memory.variable == note.memory.variable &&
           each.memory.argument == note.memory.argument;
  });
  if (same == notes.end()) {
    notes.push_back(note);
    return;
  }
  same->requests += note.requests;
  same->lanes += note.lanes;
  same->parts += note.parts;
  same->conflicts += note.conflicts;
  same->least = std::min(same->least, note.least);
  same->most = std::max(same->most, note.most);
  same->threads = std::max(same->threads, note.threads);
  same->most_by_one += note.most_by_one;
}

// Needs of one pair of lines, too.
void add(std::vector<BarrierNote>& notes, const BarrierNote& note) {
  const auto same = std::ranges::find_if(notes, [&](const BarrierNote& each) {
    return each.file == note.file && each.line == note.line && each.before == note.before &&
           each.behind == note.behind && each.before_writes == note.before_writes &&
           each.behind_writes == note.behind_writes;
  });
  if (same == notes.end()) {
    notes.push_back(note);
  } else {
    same->elements += note.elements;
  }
}

// A message to the grader has room for so many.
constexpr std::size_t kMostNotes = 100;

}  // namespace

AccessNotes take_counts() {
  Counter& all = only<Counter>();
  const std::lock_guard lock(all.mutex);
  end_block(all);
  all.block = 0;
  AccessNotes notes;
  for (const auto& [which, total] : all.totals) {
    if (total.requests == 0 || total.space.empty()) continue;
    const ReportPlace& source = source_of(static_cast<Place>(which.second >> 1U));
    AccessNote note = total;
    note.file = name_of(source.file);
    note.line = static_cast<int>(source.line);
    add(notes.accesses, note);
  }
  for (const auto& [call, product] : all.products) notes.products.push_back(product);
  for (const auto& [site, barrier] : all.met) {
    notes.barriers.push_back({.kernel = barrier.kernel,
                              .file = name_of(site.first),
                              .line = static_cast<int>(site.second & 0xffffffffU),
                              .times = barrier.times});
  }
  for (const auto& [need, count] : all.needs) {
    add(notes.barriers,
        {.kernel = count.kernel,
         .file = name_of(need.barrier.file),
         .line = static_cast<int>(need.barrier.line),
         .variable = count.variable,
         .before = static_cast<int>(source_of(need.before).line),
         .before_writes = need.before_writes,
         .behind = static_cast<int>(source_of(need.behind).line),
         .behind_writes = all.totals.contains({count.kernel, spot_of(need.behind, true)}),
         .elements = count.pairs});
  }
  const auto shorten = [&](auto& list) {
    if (list.size() <= kMostNotes) return;
    notes.left_out += static_cast<std::int64_t>(list.size() - kMostNotes);
    list.resize(kMostNotes);
  };
  std::ranges::stable_sort(notes.accesses, std::ranges::greater(), &AccessNote::parts);
  shorten(notes.accesses);
  shorten(notes.products);
  notes.barriers.resize(std::min(notes.barriers.size(), kMostNotes));
  all.totals.clear();
  all.products.clear();
  all.met.clear();
  all.needs.clear();
  return notes;
}

// A load or store of a GPU has at most 16 bytes; a larger object takes several.
void AccessCounter::access(const void* address, std::size_t bytes, bool writes, Place place) {
  constexpr std::size_t kWidest = 16;
  for (std::size_t done = 0; done < bytes; done += kWidest) {
    access_once(static_cast<const char*>(address) + done, std::min(kWidest, bytes - done), writes,
                place);
  }
}

void AccessCounter::access_once(const void* address, std::size_t bytes, bool writes, Place place) {
  Counter& all = only<Counter>();
  const std::lock_guard lock(all.mutex);
  begin_block_if_new(all);
  // Its read and its write are one request; an operation that is never ended hides nothing else.
  bool atomic = all.atomic != 0 && all.atomic == reinterpret_cast<std::uintptr_t>(address);
  if (atomic && std::exchange(all.atomic_counted, true)) {
    all.atomic = 0;
    atomic = false;
    if (writes) return;
  }
  writes = writes || atomic;
  const Spot spot = spot_of(place, writes);
  auto& [known, entry] = all.latest[spot % all.latest.size()];
  if (known != spot || entry == nullptr) {
    known = spot;
    entry = &all.spots[spot];
  }
  SpotInBlock& here = *entry;
  if (here.bytes == 0) begin_spot(all, spot, here, address, bytes, atomic);
  if (here.space == Space::kOther) return;
  const auto thread = static_cast<std::size_t>(thread_rank());
  const std::uint32_t time = at(here.times, thread)++;
  Request& request = at(at(here.requests, thread / kWarpSize), time);
  const std::size_t lane = thread % kWarpSize;
  request.mask |= 1U << lane;
  request.address[lane] = reinterpret_cast<std::uintptr_t>(address);
  if (here.space == Space::kShared) {
    touch_shared(all, address, bytes, writes,
                 {place, static_cast<int>(thread), at(all.barriers, thread)}, here.variable);
  }
}

void AccessCounter::begin_atomic(const void* address, std::size_t /*bytes*/, bool /*orders*/,
                                 const void* /*place*/) {
  only<Counter>().atomic = reinterpret_cast<std::uintptr_t>(address);
  only<Counter>().atomic_counted = false;
}

void AccessCounter::end_atomic() {
  only<Counter>().atomic = 0;
}

void AccessCounter::begin_copy(void* to, const void* from, std::size_t bytes,
                               const CallSite& site) {
  const Place place = place_of_call(site);
  if (from != nullptr) access(from, bytes, false, place);
  access(to, bytes, true, place);
}

void AccessCounter::access_by_warp(const void* address, std::size_t bytes, bool writes,
                                   const CallSite& site) {
  Counter& all = only<Counter>();
  const std::lock_guard lock(all.mutex);
  begin_block_if_new(all);
  constexpr std::size_t kPiece = 16;
  constexpr int kRows = 8;
  const Place place = place_of_call(site);
  const Spot spot = spot_of(place, writes);
  SpotInBlock& here = all.spots[spot];
  if (here.bytes == 0) begin_spot(all, spot, here, address, kPiece, false);
  if (here.space == Space::kOther) return;
  for (std::size_t piece = 0; piece * kPiece < bytes; ++piece) {
    // The rows of a column of pieces fill one request after the other.
    Request& column = at(here.fragments, piece);
    const int row = std::popcount(column.mask);
    column.address[static_cast<std::size_t>(row)] =
        reinterpret_cast<std::uintptr_t>(address) + piece * kPiece;
    column.mask |= 1U << row;
    if (row + 1 < kRows) continue;
    add_request(all.totals[{all.kernel, spot}],
                parts_of(column, here.space, here.bytes, here.atomic), kRows);
    column = {};
  }
  if (here.space == Space::kShared) {
    const int first = thread_rank() / kWarpSize * kWarpSize;
    touch_shared(all, address, bytes, writes,
                 {place, first, at(all.barriers, static_cast<std::size_t>(first))}, here.variable);
  }
}

void AccessCounter::multiply_in_warp(long long multiply_adds, const CallSite& site) {
  Counter& all = only<Counter>();
  const std::lock_guard lock(all.mutex);
  ProductNote& note = all.products[{site.file, site.position()}];
  if (note.line == 0) {
    note.kernel = BlockRunner::current()->call().name;
    note.file = name_of(site.file);
    note.line = static_cast<int>(site.line);
  }
  note.multiply_adds += multiply_adds;
}

void AccessCounter::met_in_block(const char* /*call*/, const CallSite& site) {
  Counter& all = only<Counter>();
  const std::lock_guard lock(all.mutex);
  begin_block_if_new(all);
  for (const EmulatedThread& thread : BlockRunner::current()->scheduler().threads()) {
    if (thread.state != EmulatedThread::State::kExited) ++at(all.barriers, thread.rank);
  }
  all.sites.push_back(site);
  Barrier& barrier = all.met[{site.file, site.position()}];
  barrier.kernel = BlockRunner::current()->call().name;
  ++barrier.times;
}

AccessCounter& access_counter() {
  return only<AccessCounter>();
}

}  // namespace convlab::emulation
