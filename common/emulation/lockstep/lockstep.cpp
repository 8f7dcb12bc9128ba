#include "common/emulation/lockstep/lockstep.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>
#include <sstream>
#include <unordered_map>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/lockstep/access_counts.hpp"
#include "common/emulation/runtime/handles.hpp"
#include "common/emulation/runtime/report.hpp"
#include "common/emulation/runtime/symbolize.hpp"

extern const char __executable_start;  // NOLINT(bugprone-reserved-identifier): of the linker

namespace convlab::emulation {
namespace {

struct Plan {
  bool everywhere = false;
  std::vector<std::uintptr_t> places{};  ///< sorted
};

const Plan& plan() {
  static const Plan instance = [] {
    Plan result;
    const char* text = std::getenv("CONVLAB_EMU_LOCKSTEP");
    result.everywhere = text == nullptr || std::string(text) == "all";
    std::istringstream words(text == nullptr ? "" : text);
    for (std::string word; !result.everywhere && std::getline(words, word, ',');)
      result.places.push_back(std::strtoull(word.c_str(), nullptr, 16));
    std::ranges::sort(result.places);
    return result;
  }();
  return instance;
}

std::uintptr_t place_in_program(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) -
         reinterpret_cast<std::uintptr_t>(&__executable_start);
}

struct Word {
  Touch write;
  Touch read;
};

/// The block that this worker runs.
struct Block {
  std::uint64_t number = 0;
  std::unordered_map<std::uintptr_t, Word> words;
  std::vector<std::uint32_t> barriers;  ///< passed, by thread
};

Block& block() {
  thread_local Block instance;
  if (instance.number != current_block_number) {
    instance.number = current_block_number;
    instance.words.clear();
    instance.barriers.clear();
  }
  return instance;
}

std::uint32_t& barriers_of(int thread) {
  auto& barriers = block().barriers;
  const auto index = static_cast<std::size_t>(thread);
  if (index >= barriers.size()) barriers.resize(index + kWarpSize);
  return barriers[index];
}

std::mutex conflicts_mutex;

std::set<LaneConflict>& conflicts() {
  return only<std::set<LaneConflict>>();
}

void compare(const Touch& before, const Touch& now, bool now_reads) {
  const bool same_warp = before.thread / kWarpSize == now.thread / kWarpSize;
  if (before.thread < 0 || before.thread == now.thread || !same_warp ||
      before.barriers != now.barriers || before.place == now.place)
    return;
  const std::lock_guard lock(conflicts_mutex);
  conflicts().insert({before.place, now.place, now_reads});
}

void wait_for_lanes(std::uintptr_t place) {
  CallSite site;
  site.file = kLockstepSite;
  site.line = static_cast<std::uint32_t>(place);
  site.column = static_cast<std::uint32_t>(place >> 32U);
  static_cast<void>(converged_lanes(site));
}

void on_access(const void* address, std::size_t bytes, bool writes, const void* caller) {
  if (counts_accesses()) {
    if (in_kernel()) count_access(address, bytes, writes, place_in_program(caller));
    return;
  }
  if (!is_shared(address) || !in_kernel()) return;
  const std::uintptr_t place = place_in_program(caller);
  if (!plan().everywhere) {
    const auto& places = plan().places;
    if (std::binary_search(places.begin(), places.end(), place)) wait_for_lanes(place);
    return;
  }
  wait_for_lanes(place);
  const int thread = thread_rank();
  const Touch now{place, thread, barriers_of(thread)};
  constexpr std::uintptr_t kWord = sizeof(float);
  const auto begin = reinterpret_cast<std::uintptr_t>(address) / kWord;
  const auto end = (reinterpret_cast<std::uintptr_t>(address) + bytes + kWord - 1) / kWord;
  for (std::uintptr_t at = begin; at < end; ++at) {
    Word& word = block().words[at];
    compare(word.write, now, !writes);
    if (writes) compare(word.read, now, false);
    (writes ? word.write : word.read) = now;
  }
}

/// The conflict that says most: a read of what another lane wrote.
std::optional<FaultRecord> warp_sync_record() {
  const std::vector<LaneConflict> all = take_lane_conflicts();
  if (all.empty()) return std::nullopt;
  const auto read = std::find_if(
      all.begin(), all.end(), [](const LaneConflict& conflict) { return conflict.second_reads; });
  const LaneConflict& told = read == all.end() ? all.front() : *read;
  const ReportPlace first = source_of_place(told.first);
  const ReportPlace second = source_of_place(told.second);
  return FaultRecord{.kind = FaultKind::kWarpSync,
                     .text = lockstep_places(all),
                     .file = name_of(second.file),
                     .line = static_cast<int>(second.line),
                     .other_place = name_of(first.file) + ":" + std::to_string(first.line)};
}

[[maybe_unused]] const bool is_registered = [] {
  warp_sync_source() = warp_sync_record;
  return true;
}();

}  // namespace

ReportPlace source_of_place(std::uintptr_t place) {
  // A return address names the statement after the call.
  void* const frame =
      reinterpret_cast<void*>(place + reinterpret_cast<std::uintptr_t>(&__executable_start) - 1);
  return source_place(&frame, 1);
}

std::vector<LaneConflict> take_lane_conflicts() {
  const std::lock_guard lock(conflicts_mutex);
  std::vector<LaneConflict> all(conflicts().begin(), conflicts().end());
  conflicts().clear();
  return all;
}

std::string lockstep_places(const std::vector<LaneConflict>& all) {
  std::set<std::uintptr_t> places;
  for (const LaneConflict& conflict : all) places.insert(conflict.second);
  std::ostringstream text;
  text << std::hex;
  for (const std::uintptr_t place : places) text << (place == *places.begin() ? "" : ",") << place;
  return text.str();
}

void block_barrier_in_step(const char* name, bool predicate, CallSite site) {
  if (counts_accesses()) {
    count_barrier(site);
  } else {
    ++barriers_of(thread_rank());
  }
  block_barrier(name, predicate, site);
}

void warp_collective_in_step(const WarpOperation& operation, std::uint32_t mask, const void* input,
                             void* output, CallSite site) {
  if (!counts_accesses()) ++barriers_of(thread_rank());
  warp_collective(operation, mask, input, output, site);
}

}  // namespace convlab::emulation

// ---- what the compiler calls --------------------------------------------------------------------
// Source: the interface of ThreadSanitizer, as GCC and clang call it.

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** /*object*/, void* /*value*/) {}
void __tsan_vptr_read(void** /*object*/) {}
void __tsan_atomic_thread_fence(int /*order*/) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int /*order*/) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#define CONVLAB_ACCESS(name, bytes, writes)                                             \
  [[gnu::noinline]] void __tsan_##name(void* address) {                                 \
    convlab::emulation::on_access(address, bytes, writes, __builtin_return_address(0)); \
  }
#define CONVLAB_ACCESSES(bytes)                       \
  CONVLAB_ACCESS(read##bytes, bytes, false)           \
  CONVLAB_ACCESS(write##bytes, bytes, true)           \
  CONVLAB_ACCESS(volatile_read##bytes, bytes, false)  \
  CONVLAB_ACCESS(volatile_write##bytes, bytes, true)  \
  CONVLAB_ACCESS(unaligned_read##bytes, bytes, false) \
  CONVLAB_ACCESS(unaligned_write##bytes, bytes, true)
CONVLAB_ACCESSES(1)
CONVLAB_ACCESSES(2)
CONVLAB_ACCESSES(4)
CONVLAB_ACCESSES(8)
CONVLAB_ACCESSES(16)

[[gnu::noinline]] void __tsan_read_range(void* address, std::size_t bytes) {
  convlab::emulation::on_access(address, bytes, false, __builtin_return_address(0));
}
[[gnu::noinline]] void __tsan_write_range(void* address, std::size_t bytes) {
  convlab::emulation::on_access(address, bytes, true, __builtin_return_address(0));
}

// GCC replaces atomic operations, too.
#define CONVLAB_ATOMIC_FETCH(bits, T, operation)                                      \
  T __tsan_atomic##bits##_fetch_##operation(volatile T* at, T value, int /*order*/) { \
    return __atomic_fetch_##operation(at, value, __ATOMIC_SEQ_CST);                   \
  }
#define CONVLAB_ATOMIC_COMPARE(bits, T, kind, weak)                                            \
  int __tsan_atomic##bits##_compare_exchange_##kind(volatile T* at, T* expected, T value, int, \
                                                    int) {                                     \
    return __atomic_compare_exchange_n(at, expected, value, weak, __ATOMIC_SEQ_CST,            \
                                       __ATOMIC_SEQ_CST)                                       \
               ? 1                                                                             \
               : 0;                                                                            \
  }
#define CONVLAB_ATOMICS(bits, T)                                             \
  T __tsan_atomic##bits##_load(const volatile T* at, int /*order*/) {        \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                            \
  }                                                                          \
  void __tsan_atomic##bits##_store(volatile T* at, T value, int /*order*/) { \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                           \
  }                                                                          \
  T __tsan_atomic##bits##_exchange(volatile T* at, T value, int /*order*/) { \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                 \
  }                                                                          \
  CONVLAB_ATOMIC_FETCH(bits, T, add)                                         \
  CONVLAB_ATOMIC_FETCH(bits, T, sub)                                         \
  CONVLAB_ATOMIC_FETCH(bits, T, and)                                         \
  CONVLAB_ATOMIC_FETCH(bits, T, or)                                          \
  CONVLAB_ATOMIC_FETCH(bits, T, xor)                                         \
  CONVLAB_ATOMIC_FETCH(bits, T, nand)                                        \
  CONVLAB_ATOMIC_COMPARE(bits, T, strong, false)                             \
  CONVLAB_ATOMIC_COMPARE(bits, T, weak, true)
CONVLAB_ATOMICS(8, std::uint8_t)
CONVLAB_ATOMICS(16, std::uint16_t)
CONVLAB_ATOMICS(32, std::uint32_t)
CONVLAB_ATOMICS(64, std::uint64_t)
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
