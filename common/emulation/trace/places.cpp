#include "common/emulation/trace/places.hpp"

#include <execinfo.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/parcel.hpp"
#include "common/emulation/runtime/report.hpp"

extern const char __executable_start;  // NOLINT(bugprone-reserved-identifier): of the linker

namespace convlab::emulation {
namespace {

struct Entry {
  const void* caller = nullptr;
  std::vector<void*> frames{};  ///< from the caller on, when it came here first
  CallSite site{};
  bool is_known = false;
  ReportPlace source{};
};

struct Table {
  std::vector<Entry> entries{1};
  std::unordered_map<const void*, Place> accesses;
  std::map<std::pair<const char*, std::uint64_t>, Place> calls;
  std::array<std::pair<const void*, Place>, 1024> latest{};
};

}  // namespace

/// The calls that led to it. Where it is a function of a header, they tell the program's line.
static std::vector<void*> frames_from(const void* caller) {
  std::array<void*, 24> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  const auto end = frames.begin() + count;
  const auto found = std::find(frames.begin(), end, caller);
  std::vector<void*> result(found, end);
  if (result.empty()) result.push_back(const_cast<void*>(caller));
  // A return address names the statement after the call.
  result.front() = static_cast<char*>(result.front()) - 1;
  return result;
}

Place place_of_access(const void* caller) {
  Table& table = only<Table>();
  auto& [known, place] =
      table.latest[reinterpret_cast<std::uintptr_t>(caller) / 4 % table.latest.size()];
  if (known == caller && place != 0) return place;
  const auto [entry, is_new] =
      table.accesses.try_emplace(caller, static_cast<Place>(table.entries.size()));
  if (is_new) table.entries.push_back({.caller = caller, .frames = frames_from(caller)});
  known = caller;
  return place = entry->second;
}

Place place_of_call(const CallSite& site) {
  Table& table = only<Table>();
  const auto [entry, is_new] = table.calls.try_emplace({site.file, site.position()},
                                                       static_cast<Place>(table.entries.size()));
  if (is_new) table.entries.push_back({.site = site});
  return entry->second;
}

void pass_places(Parcel& parcel) {
  std::vector<std::pair<const void*, CallSite>> all;
  for (const Entry& entry : only<Table>().entries) all.emplace_back(entry.caller, entry.site);
  parcel.pass(all);
  for (std::size_t i = count_of_places(); i < all.size(); ++i) {
    const auto& [caller, site] = all[i];
    static_cast<void>(caller != nullptr ? place_of_access(caller) : place_of_call(site));
  }
}

Place count_of_places() {
  return static_cast<Place>(only<Table>().entries.size());
}

const ReportPlace& source_of(Place place) {
  Entry& entry = only<Table>().entries[place];
  if (!std::exchange(entry.is_known, true)) {
    if (entry.caller != nullptr) {
      entry.source = source_place(entry.frames.data(), static_cast<int>(entry.frames.size()));
    } else {
      entry.source = place_of(entry.site);
    }
  }
  return entry.source;
}

std::uintptr_t address_in_program(Place place) {
  const void* const caller = only<Table>().entries[place].caller;
  return caller == nullptr ? 0 : address_in_program(caller);
}

std::uintptr_t address_in_program(const void* caller) {
  return reinterpret_cast<std::uintptr_t>(caller) -
         reinterpret_cast<std::uintptr_t>(&__executable_start);
}

/// A variable of the device; all are known before a kernel runs.
static const Symbol* variable_at(const void* address) {
  static const std::vector<Symbol> symbols = all_symbols();
  const auto found = std::ranges::find_if(symbols, [&](const Symbol& each) {
    return address >= each.address && address < each.address + each.bytes;
  });
  return found == symbols.end() ? nullptr : &*found;
}

Space space_of(const void* address) {
  if (is_shared(address)) return Space::kShared;
  if (DeviceMemory::contains(address)) return Space::kGlobal;
  if (is_own_stack(address)) return Space::kOther;
  if (const Symbol* const variable = variable_at(address))
    return variable->kind == SymbolKind::kConstant ? Space::kConstant : Space::kGlobal;
  return Space::kOther;
}

FaultMemory memory_at(const void* address, const char* kernel) {
  std::optional<ReportMemory> memory;
  if (is_shared(address)) {
    memory = BlockRunner::current()->shared_memory().find(address);
  } else if (DeviceMemory::contains(address)) {
    memory = device_memory().nearest(address);
  } else if (const Symbol* const variable = variable_at(address)) {
    memory = ReportMemory{{.variable = variable->name,
                           .bytes = static_cast<std::int64_t>(variable->bytes),
                           .offset = static_cast<const std::byte*>(address) - variable->address}};
  }
  if (kernel == nullptr) kernel = BlockRunner::current()->call().name;
  return memory ? fault_memory(*memory, kernel) : FaultMemory{};
}

bool is_traced_memory(std::uintptr_t address) {
  const void* const pointer = reinterpret_cast<const void*>(address);
  if (is_shared(pointer) || DeviceMemory::contains(pointer)) return true;
  return variable_at(pointer) != nullptr;
}

// ---- accesses -----------------------------------------------------------------------------------

/// The operation that has begun on this worker.
static thread_local struct {
  const void* address;
  bool is_seen;
} begun_atomic;

void AccessObserver::access(const void* address, std::size_t bytes, bool writes, const void* caller,
                            const void* frame) {
  if (move(caller, frame)) touch_all(address, bytes, writes, place_of_access(caller));
}

void AccessObserver::touch_all(const void* address, std::size_t bytes, bool writes, Place place) {
  // As wide as address and size allow: an object of three floats takes three requests.
  const std::size_t part = std::size_t{1} << std::countr_zero(
                               reinterpret_cast<std::uintptr_t>(address) | bytes | kWidestLoad);
  for (std::size_t done = 0; done < bytes; done += part) {
    const void* const at = static_cast<const char*>(address) + done;
    StepKind kind = writes ? StepKind::kWrite : StepKind::kRead;
    // Its read and its write are one; an operation that is never ended hides nothing else.
    if (begun_atomic.address == at && !std::exchange(begun_atomic.is_seen, true)) {
      kind = StepKind::kAtomic;
    } else if (begun_atomic.address == at) {
      begun_atomic = {};
      if (writes) continue;
    }
    touch(at, part, kind, place);
  }
}

void AccessObserver::begin_copy(void* to, const void* from, std::size_t bytes,
                                const CallSite& site) {
  const Place place = place_of_call(site);
  if (from != nullptr) touch_all(from, bytes, false, place);
  touch_all(to, bytes, true, place);
}

void AccessObserver::begin_atomic(const void* address, std::size_t /*bytes*/, unsigned /*kind*/,
                                  const void* /*place*/) {
  begun_atomic = {address, false};
}

void AccessObserver::end_atomic() {
  begun_atomic = {};
}

}  // namespace convlab::emulation
