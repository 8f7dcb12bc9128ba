#include "common/emulation/include/convlab_emulation/activity.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "common/emulation/runtime/copy.hpp"
#include "common/emulation/runtime/device_access.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/kernel_process.hpp"
#include "common/emulation/runtime/parcel.hpp"
#include "common/emulation/runtime/poison.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/settings.hpp"
#include "common/emulation/runtime/shared_memory.hpp"
#include "common/emulation/runtime/stream.hpp"

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
// Bounds of the program, and of its code, from the linker.
extern const char __executable_start;
extern const char etext;
extern const char end;
// Of libgcc: where the code of a function begins, and the entry of its unwinding table.
void* _Unwind_FindEnclosingFunction(void* code);
const void* _Unwind_Find_FDE(const void* code, void* bases);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace convlab::emulation {

namespace {

std::mutex record_mutex;

void note_transfer(const std::string& what, std::int64_t bytes) {
  if (only<DeviceNotes>().transfers.size() < DeviceNotes::kMost)
    only<DeviceNotes>().transfers.push_back({what, bytes});
}

/// The constant variable that the poison names, if nothing was copied there.
std::optional<ReportMemory> unwritten_constant(const PoisonedWord& poison) {
  const DeviceAccess access({});
  for (const Symbol& symbol : all_symbols()) {
    std::uint32_t bits = 0;
    const auto size = static_cast<std::int64_t>(symbol.bytes);
    const auto end = poison.offset + static_cast<std::int64_t>(sizeof bits);
    if (symbol.kind != SymbolKind::kConstant || end > size) continue;
    std::memcpy(&bits, symbol.address + poison.offset, sizeof bits);
    PoisonedWord there;
    if (read_poison(bits, there) && there == poison)
      return ReportMemory{{.variable = symbol.name, .bytes = size, .offset = poison.offset}};
  }
  return std::nullopt;
}

/// Counts the elements that hold poison. One that holds the poison of its own place in some memory
/// was copied from there as it was.
std::optional<PoisonedOutput> find_poison(const float* output, std::int64_t count) {
  PoisonedOutput found;
  std::optional<PoisonedWord> source;
  std::optional<PoisonedWord> own;
  for (std::int64_t i = 0; i < count; ++i) {
    PoisonedWord word;
    const auto bits = std::bit_cast<std::uint32_t>(output[i]);
    if (!read_poison(bits, word)) continue;
    const bool is_own =
        !word.shared && word.offset == i * std::int64_t{sizeof(float)} % kNumberedBytes;
    ++(is_own ? found.never_written : found.computed);
    std::optional<PoisonedWord>& first = is_own ? own : source;
    if (!first) first = word;
  }
  if (!source && !own) return std::nullopt;
  const PoisonedWord word = found.computed > 0 ? *source : *own;
  const auto constant = word.shared ? unwritten_constant(word) : std::nullopt;
  const auto memory = constant      ? constant
                      : word.shared ? poisoned_variable(word.object, word.offset)
                                    : device_memory().find_poisoned(word.object, word.offset);
  if (!memory) return std::nullopt;
  found.kernel = memory->kernel;
  found.memory = fault_memory(*memory, memory->kernel);
  return found;
}

}  // namespace

void pass_launch_notes(Parcel& parcel) {
  const std::lock_guard lock(record_mutex);
  std::vector<DeviceLaunch>& launches = only<DeviceNotes>().launches;
  std::vector<std::array<int, 3>> seen;
  for (const DeviceLaunch& each : launches)
    seen.push_back({each.early, each.barrier_line, each.absent_line});
  parcel.pass(seen);
  // The host may have launched more since.
  for (std::size_t i = 0; i < std::min(seen.size(), launches.size()); ++i)
    std::tie(launches[i].early, launches[i].barrier_line, launches[i].absent_line) =
        std::tie(seen[i][0], seen[i][1], seen[i][2]);
}

DeviceNotes take_notes(const float* output, std::int64_t count) {
  fetch_notes();
  DeviceNotes taken;
  forget_first_stream();
  {
    const std::lock_guard lock(record_mutex);
    taken = std::exchange(only<DeviceNotes>(), {});
  }
  for (const Allocation& allocation : device_memory().live())
    taken.live_bytes += static_cast<std::int64_t>(allocation.bytes);
  taken.live_objects = live_objects;
  std::tie(taken.kernels_beside, taken.copies_beside) = streams().take_beside();
  if (settings().numbered_poison) taken.poisoned = find_poison(output, count);
  return taken;
}

void note_allocation(std::int64_t bytes) {
  const std::lock_guard lock(record_mutex);
  note_transfer("allocation", bytes);
}

namespace {

/// A hash of what a function does: of its machine code and that of all functions that it calls, but
/// not of where they, its variables and its texts lie. Two kernels that one template makes have the
/// same, unless their code is different.
class CodeHash {
 public:
  explicit CodeHash(const void* function) { add(static_cast<const unsigned char*>(function)); }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  // Source of the entry: Linux Standard Base, "Exception Frames": two words of 32 bits, then where
  // the function begins, as a distance, and how long it is.
  static std::size_t length_of(const unsigned char* function) {
    std::array<void*, 3> bases{};
    const void* const entry = _Unwind_Find_FDE(function, bases.data());
    return entry == nullptr ? 0 : int_at(static_cast<const unsigned char*>(entry) + 12);
  }
  static std::uint32_t int_at(const unsigned char* at) {
    std::uint32_t number = 0;
    std::memcpy(&number, at, sizeof number);
    return number;
  }
  // Source of the hash: FNV-1a, 64 bits.
  void mix(std::uint64_t part) { hash_ = (hash_ ^ part) * 1099511628211U; }

  void add(const unsigned char* function) {
    constexpr std::size_t kDistance = sizeof(std::int32_t);
    if (std::ranges::find(known_, function) != known_.end()) return;
    known_.push_back(function);
    const unsigned char* const behind = function + length_of(function);
    for (const unsigned char* at = function; at < behind; ++at) {
      const unsigned char* const next = at + kDistance;
      const unsigned char* const place =
          next <= behind ? next + static_cast<std::int32_t>(int_at(at)) : nullptr;
      const void* const address = place;
      const bool is_of_program = address >= &__executable_start && address < &end;
      const bool is_code = address < &etext;
      // Behind E8, a call, or E9, a jump, a function begins; data lie elsewhere than code.
      const bool is_called =
          is_of_program && is_code && at > function && (at[-1] == 0xe8 || at[-1] == 0xe9) &&
          (place < function || place >= behind) &&
          _Unwind_FindEnclosingFunction(const_cast<unsigned char*>(place + 1)) == place;
      if (is_called) {
        add(place);
      } else if (!is_of_program || is_code) {
        mix(*at);
        continue;
      }
      at = next - 1;
    }
  }

  std::uint64_t hash_ = 14695981039346656037U;
  std::vector<const unsigned char*> known_;
};

std::uint64_t code_of(const KernelCall& call) {
  static std::map<const void*, std::uint64_t> known;
  const void* const code =
      call.function != nullptr ? call.function : reinterpret_cast<const void*>(call.run_thread);
  const auto [entry, is_new] = known.try_emplace(code);
  if (is_new) entry->second = CodeHash(code).value();
  return entry->second;
}

}  // namespace

void note_configuration(const KernelCall& call) {
  const std::lock_guard lock(record_mutex);
  if (only<DeviceNotes>().launches.size() >= DeviceNotes::kMost) return;
  only<DeviceNotes>().launches.push_back({.kernel = call.name,
                                          .file = name_of(place_of(call.site).file),
                                          .line = static_cast<int>(call.site.line),
                                          .grid = {call.grid.x, call.grid.y, call.grid.z},
                                          .block = {call.block.x, call.block.y, call.block.z},
                                          .code = code_of(call)});
}

void note_stream(int number) {
  const std::lock_guard lock(record_mutex);
  std::vector<int>& known = only<DeviceNotes>().streams;
  if (std::ranges::find(known, number) == known.end()) known.push_back(number);
}

template <class Note>
static void note_launches(const KernelCall& call, const Note& note) {
  const std::lock_guard lock(record_mutex);
  for (DeviceLaunch& launch : only<DeviceNotes>().launches)
    if (launch.kernel == call.name && launch.line == static_cast<int>(call.site.line)) note(launch);
}

void note_early_end(const KernelCall& call, int ended, const CallSite& barrier) {
  note_launches(call, [&](DeviceLaunch& launch) {
    if (launch.early > 0) return;
    launch.early = ended;
    launch.barrier_line = static_cast<int>(barrier.line);
  });
}

void note_absent_value(const KernelCall& call, const CallSite& shuffle) {
  note_launches(call,
                [&](DeviceLaunch& launch) { launch.absent_line = static_cast<int>(shuffle.line); });
}

std::vector<MemoryRange> allocated_memory() {
  std::vector<MemoryRange> ranges;
  for (const Allocation& allocation : device_memory().live())
    ranges.push_back({allocation.begin, static_cast<std::int64_t>(allocation.bytes)});
  return ranges;
}

bool has_pending_work() {
  return streams().pending();
}

Activity take_activity() {
  const std::lock_guard lock(record_mutex);
  return std::exchange(only<Activity>(), {});
}

void note_launch(const std::string& kernel) {
  const std::lock_guard lock(record_mutex);
  ++only<Activity>().launches[kernel];
}

void note_copy(bool from_device, bool to_device, std::int64_t bytes) {
  const std::string direction =
      std::string(from_device ? "device" : "host") + " to " + (to_device ? "device" : "host");
  const std::lock_guard lock(record_mutex);
  Activity::Copies& copies = only<Activity>().copies[direction];
  ++copies.calls;
  copies.bytes += bytes;
  note_transfer(direction, bytes);
}

}  // namespace convlab::emulation
