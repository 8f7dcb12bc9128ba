#include "common/emulation/lockstep/access_counts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/lockstep/lockstep.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/symbol_table.hpp"
#include "common/error/access_notes.hpp"

namespace convlab::emulation {
namespace {

constexpr std::uintptr_t kSector = 32;
constexpr std::uintptr_t kWord = 4;
constexpr std::uintptr_t kBanks = 32;

enum class Space : std::uint8_t { kOther, kGlobal, kShared, kConstant };

/// The lanes of a warp that make one access together.
struct Request {
  std::uint32_t mask = 0;
  std::array<std::uintptr_t, kWarpSize> address{};
};

/// One place of the program in the running block.
struct PlaceInBlock {
  Space space = Space::kOther;
  std::size_t bytes = 0;
  std::string variable{};                      ///< of shared memory
  std::vector<std::uint32_t> times;            ///< by thread
  std::vector<std::vector<Request>> requests;  ///< by warp, then by how often a lane had come
};

struct Word {
  Touch write;
  Touch read;
  Touch other_read;  ///< the last one by another thread than `read`
};

/// Two accesses that one barrier keeps apart.
struct Need {
  CallSite barrier{};
  std::uintptr_t before = 0;
  bool before_writes = false;
  std::uintptr_t behind = 0;
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
  std::unordered_map<std::uintptr_t, PlaceInBlock> places;
  std::array<std::pair<std::uintptr_t, PlaceInBlock*>, 64> latest{};  ///< of `places`
  std::unordered_map<std::uintptr_t, Word> words;
  std::vector<std::uint32_t> barriers;          ///< passed, by thread
  std::vector<CallSite> sites;                  ///< of the block's barriers, in order
  std::map<std::uintptr_t, AccessNote> totals;  ///< by place, over all blocks
  std::map<std::pair<const char*, std::uint64_t>, Barrier> met;
  std::map<Need, NeedCount> needs;
};

template <typename T>
T& at(std::vector<T>& list, std::size_t index) {
  if (index >= list.size()) list.resize(index + 1);
  return list[index];
}

int distinct(std::vector<std::uintptr_t>& values) {
  std::ranges::sort(values);
  return static_cast<int>(std::unique(values.begin(), values.end()) - values.begin());
}

// Wider accesses than a word are served for a half or a quarter of the warp at a time.
int passes(const Request& request, std::size_t bytes) {
  const std::size_t words = std::max<std::size_t>(1, bytes / kWord);
  const int lanes_at_once = static_cast<int>(kWarpSize / words);
  int all = 0;
  for (int first = 0; first < kWarpSize; first += lanes_at_once) {
    std::array<std::vector<std::uintptr_t>, kBanks> banks;
    for (const int lane : LaneRange(request.mask)) {
      if (lane < first || lane >= first + lanes_at_once) continue;
      for (std::size_t i = 0; i < words; ++i) {
        const std::uintptr_t word = request.address[static_cast<std::size_t>(lane)] / kWord + i;
        banks[word % kBanks].push_back(word);
      }
    }
    int most = 0;
    for (auto& bank : banks) most = std::max(most, distinct(bank));
    all += most;
  }
  return all;
}

int parts_of(const Request& request, const PlaceInBlock& place) {
  if (place.space == Space::kShared) return passes(request, place.bytes);
  const std::uintptr_t unit = place.space == Space::kGlobal ? kSector : kWord;
  std::vector<std::uintptr_t> parts;
  for (const int lane : LaneRange(request.mask)) {
    const std::uintptr_t address = request.address[static_cast<std::size_t>(lane)];
    for (auto part = address / unit; part <= (address + place.bytes - 1) / unit; ++part) {
      parts.push_back(part);
    }
  }
  return distinct(parts);
}

// Adds the block that is over to the totals.
void end_block(Counter& all) {
  for (auto& [address, place] : all.places) {
    AccessNote& note = all.totals[address];
    for (const std::uint32_t times : place.times) {
      if (times > 0) ++note.threads;
      note.most_by_one = std::max<std::int64_t>(note.most_by_one, times);
    }
    for (const auto& warp : place.requests) {
      for (const Request& request : warp) {
        const int parts = parts_of(request, place);
        note.least = note.requests == 0 ? parts : std::min(note.least, parts);
        note.most = std::max(note.most, parts);
        note.parts += parts;
        note.lanes += std::popcount(request.mask);
        ++note.requests;
      }
    }
  }
  all.places.clear();
  all.latest = {};
  all.words.clear();
  all.barriers.clear();
  all.sites.clear();
}

void begin_block_if_new(Counter& all) {
  if (all.block == current_block_number) return;
  end_block(all);
  all.block = current_block_number;
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

void touch_shared(Counter& all, std::uintptr_t word_address, bool writes, const Touch& now,
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

// An unrolled loop is one line at several places of the program.
void add(std::vector<AccessNote>& notes, const AccessNote& note) {
  const auto same = std::ranges::find_if(notes, [&](const AccessNote& each) {
    return each.kernel == note.kernel && each.file == note.file && each.line == note.line &&
           each.space == note.space && each.writes == note.writes && each.bytes == note.bytes &&
           each.memory.variable == note.memory.variable &&
           each.memory.argument == note.memory.argument;
  });
  if (same == notes.end()) {
    notes.push_back(note);
    return;
  }
  same->requests += note.requests;
  same->lanes += note.lanes;
  same->parts += note.parts;
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
constexpr std::size_t kMostNotes = 64;

AccessNotes take_counts() {
  Counter& all = only<Counter>();
  const std::lock_guard lock(all.mutex);
  end_block(all);
  all.block = 0;
  AccessNotes notes;
  std::map<std::uintptr_t, ReportPlace> known;
  const auto source = [&](std::uintptr_t place) -> const ReportPlace& {
    const auto [entry, is_new] = known.try_emplace(place);
    if (is_new) entry->second = source_of_place(place);
    return entry->second;
  };
  for (const auto& [address, total] : all.totals) {
    if (total.requests == 0 || total.space.empty()) continue;
    AccessNote note = total;
    note.file = name_of(source(address).file);
    note.line = static_cast<int>(source(address).line);
    add(notes.accesses, note);
  }
  for (const auto& [site, barrier] : all.met) {
    notes.barriers.push_back({.kernel = barrier.kernel,
                              .file = name_of(site.first),
                              .line = static_cast<int>(site.second & 0xffffffffU),
                              .times = barrier.times});
  }
  for (const auto& [need, count] : all.needs) {
    add(notes.barriers, {.kernel = count.kernel,
                         .file = name_of(need.barrier.file),
                         .line = static_cast<int>(need.barrier.line),
                         .variable = count.variable,
                         .before = static_cast<int>(source(need.before).line),
                         .before_writes = need.before_writes,
                         .behind = static_cast<int>(source(need.behind).line),
                         .behind_writes = all.totals[need.behind].writes,
                         .elements = count.pairs});
  }
  notes.accesses.resize(std::min(notes.accesses.size(), kMostNotes));
  notes.barriers.resize(std::min(notes.barriers.size(), kMostNotes));
  all.totals.clear();
  all.met.clear();
  all.needs.clear();
  return notes;
}

[[maybe_unused]] const bool is_registered = [] {
  if (counts_accesses()) access_source() = take_counts;
  return true;
}();

}  // namespace

bool counts_accesses() {
  static const bool instance = [] {
    const char* text = std::getenv("CONVLAB_EMU_LOCKSTEP");
    return text != nullptr && std::string_view(text) == "count";
  }();
  return instance;
}

void count_access(const void* address, std::size_t bytes, bool writes, std::uintptr_t place) {
  Counter& all = only<Counter>();
  const std::lock_guard lock(all.mutex);
  begin_block_if_new(all);
  auto& [known, entry] = all.latest[place / 4 % all.latest.size()];
  if (known != place || entry == nullptr) {
    known = place;
    entry = &all.places[place];
  }
  PlaceInBlock& here = *entry;
  if (here.bytes == 0) {
    AccessNote& note = all.totals[place];
    here.bytes = bytes;
    here.space = space_of(address, note);
    here.variable = note.memory.variable;
    note.writes = writes;
    note.bytes = static_cast<int>(bytes);
  }
  if (here.space == Space::kOther) return;
  const auto thread = static_cast<std::size_t>(thread_rank());
  const std::uint32_t time = at(here.times, thread)++;
  Request& request = at(at(here.requests, thread / kWarpSize), time);
  const std::size_t lane = thread % kWarpSize;
  request.mask |= 1U << lane;
  request.address[lane] = reinterpret_cast<std::uintptr_t>(address);
  if (here.space != Space::kShared) return;
  const Touch now{place, static_cast<int>(thread), at(all.barriers, thread)};
  const auto first = reinterpret_cast<std::uintptr_t>(address) / kWord;
  const auto last = (reinterpret_cast<std::uintptr_t>(address) + bytes - 1) / kWord;
  for (auto word = first; word <= last; ++word) {
    touch_shared(all, word, writes, now, here.variable);
  }
}

void count_barrier(const CallSite& site) {
  Counter& all = only<Counter>();
  const std::lock_guard lock(all.mutex);
  begin_block_if_new(all);
  const std::uint32_t number = at(all.barriers, static_cast<std::size_t>(thread_rank()))++;
  if (number < all.sites.size()) return;
  all.sites.push_back(site);
  Barrier& barrier = all.met[{site.file, site.position()}];
  barrier.kernel = BlockRunner::current()->call().name;
  ++barrier.times;
}

}  // namespace convlab::emulation
