// What a file that was compiled with -fsanitize=thread calls before each access to memory, in place
// of ThreadSanitizer, which is not linked; and what becomes of the calls.
//
// CONVLAB_EMU_TRACE=races       each access goes to the race detector
//                   counts      each access is counted (access_counts.hpp)
//                   steps:2,0,1:0:conv_forward   what one block does is recorded
//                               (step_recorder.hpp)
//                   1a2b,3c4d   at these places lanes of a warp wait for each other before they
//                               access memory, as on a GPU that runs them in step
//                   off         nothing

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/emulation/include/convlab_emulation/collective.hpp"
#include "common/emulation/include/convlab_emulation/narrow_format.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"
#include "common/emulation/runtime/block_runner.hpp"
#include "common/emulation/runtime/device_memory.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/trace/access_counts.hpp"
#include "common/emulation/trace/places.hpp"
#include "common/emulation/trace/race_detector.hpp"
#include "common/emulation/trace/step_recorder.hpp"

namespace convlab::emulation {
namespace {

enum class Mode { kOff, kRaces, kCounts, kSteps, kMeetings };

Mode mode = Mode::kOff;
RaceDetector* detector = nullptr;

/// Each stands where its last bits say: every access of a program looks there.
std::vector<std::uintptr_t>* meeting_places = nullptr;

void meet_at(const std::set<std::uintptr_t>& places) {
  const auto has_room = [](std::uintptr_t place) {
    return std::exchange((*meeting_places)[place % meeting_places->size()], place) == 0;
  };
  for (std::size_t size = 64;; size *= 2) {
    meeting_places = new std::vector<std::uintptr_t>(size);
    if (std::ranges::all_of(places, has_room)) return;
  }
}

void read_mode() {
  const char* const text = std::getenv("CONVLAB_EMU_TRACE");
  const std::string value = text == nullptr ? "off" : text;
  if (value == "off") return;
  if (value == "races") {
    look_for_races();
  } else if (value == "counts") {
    count_requests();
  } else if (constexpr std::string_view kSteps = "steps:"; value.starts_with(kSteps)) {
    if (auto wanted = parse_wanted_steps(value.substr(kSteps.size())))
      record_steps(std::move(*wanted));
  } else {
    mode = Mode::kMeetings;
    std::set<std::uintptr_t> places;
    std::istringstream words(value);
    for (std::string word; std::getline(words, word, ',');)
      places.insert(std::strtoull(word.c_str(), nullptr, 16));
    meet_at(places);
  }
}

[[maybe_unused]] const bool is_ready = (read_mode(), true);

void wait_for_lanes(const void* caller) {
  const std::uintptr_t place = address_in_program(caller);
  if ((*meeting_places)[place & (meeting_places->size() - 1)] != place) return;
  CallSite site;
  site.file = kInStepSite;
  site.line = static_cast<std::uint32_t>(place);
  site.column = static_cast<std::uint32_t>(place >> 32U);
  static_cast<void>(converged_lanes(site));
}

// As in_kernel(), which is a call, for every access of a program.
bool runs_kernel() {
  const BlockRunner* const current = BlockRunner::current();
  return current != nullptr && current->inside_kernel();
}

// Most accesses of a kernel, beside those to its arrays; no other thread has anything to do with
// them.
bool is_local_variable(const void* address, bool writes, const void* frame) {
  constexpr std::uintptr_t kNear = 16 << 10;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return at - reinterpret_cast<std::uintptr_t>(frame) < kNear ||
         (!writes && at - reinterpret_cast<std::uintptr_t>(&threadIdx) < sizeof(threadIdx));
}

using Range = std::pair<const void*, std::size_t>;

// What the compiler announced on this thread; nothing came since. It may then call memcpy for it.
thread_local std::array<Range, 2> announced;

// cuda_fp16.h reads a mark where a kernel multiplies: how many numbers. 0: no mark.
int marked_products(const void* address, bool writes) {
  const auto distance =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(product_marks);
  return !writes && distance < sizeof(product_marks) ? static_cast<int>(distance) : 0;
}

void on_product(const char* kind, int numbers, const void* caller, const void* frame) {
  if (mode == Mode::kCounts && in_kernel()) AccessCounter::multiply(kind, numbers, caller, frame);
}

void on_access(const void* address, std::size_t bytes, bool writes, bool is_volatile,
               const void* caller, const void* frame) {
  if (const int halves = is_volatile ? marked_products(address, writes) : 0; halves > 0)
    return on_product(halves == 1 ? "half" : "half2", halves, caller, frame);
  switch (mode) {
    case Mode::kOff:
      return;
    case Mode::kRaces:
      if (!runs_kernel()) return refuse_crossing(address, writes, caller);
      if (!is_shared(address) && !DeviceMemory::contains(address)) {
        if (is_local_variable(address, writes, frame)) return;
        refuse_crossing(address, writes, caller);
        if (!is_traced_memory(reinterpret_cast<std::uintptr_t>(address))) return;
      }
      detector->access(
          {reinterpret_cast<std::uintptr_t>(address), bytes, writes, is_volatile, 0, caller});
      return;
    case Mode::kCounts:
      announced = {};
      refuse_crossing(address, writes, caller);
      if (in_kernel()) only<AccessCounter>().access(address, bytes, writes, caller, frame);
      return;
    case Mode::kSteps:
      if (in_kernel()) only<StepRecorder>().access(address, bytes, writes, caller, frame);
      return;
    case Mode::kMeetings:
      if (runs_kernel()) wait_for_lanes(caller);
  }
}

void on_atomic(const volatile void* address, bool writes, const void* caller) {
  const bool observes = mode == Mode::kRaces || mode == Mode::kCounts;
  if (address != nullptr && observes)
    refuse_crossing(const_cast<const void*>(address), writes, caller);
}

[[gnu::noinline]] void on_block(const void* caller, const void* frame) {
  if (!in_kernel()) return;
  if (mode == Mode::kCounts)
    AccessCounter::come_to_block(caller, frame);
  else
    only<StepRecorder>().come_to_block(caller, frame);
}

void on_range(const void* address, std::size_t bytes, bool writes, const void* caller,
              const void* frame) {
  const Range of_other_kind = announced[writes ? 0 : 1];
  on_access(address, bytes, writes, false, caller, frame);
  announced[writes ? 0 : 1] = of_other_kind;
  announced[writes ? 1 : 0] = {address, bytes};
}

void on_call(const void* address, std::size_t bytes, bool writes, const void* caller,
             const void* frame) {
  const Range range(address, bytes);
  if (bytes == 0 || std::exchange(announced[writes ? 1 : 0], {}) == range) return;
  on_access(address, bytes, writes, false, caller, frame);
}

}  // namespace

void look_for_races() {
  mode = Mode::kRaces;
  observer = detector = &only<RaceDetector>();
  race_source() = [] { return only<RaceDetector>().take(); };
}

void record_steps(WantedSteps wanted) {
  mode = Mode::kSteps;
  only<StepRecorder>().want(std::move(wanted));
  observer = &only<StepRecorder>();
  step_source() = [] { return only<StepRecorder>().take(); };
}

void count_requests() {
  align_to(256);  // as a GPU does: sectors depend on it
  mode = Mode::kCounts;
  observer = &only<AccessCounter>();
  access_source() = take_counts;
}

}  // namespace convlab::emulation

// No race: a GPU's atomic operations are other functions (atomics.hpp).
#define CONVLAB_ON_ACCESS(...) \
  convlab::emulation::on_access(__VA_ARGS__, __builtin_frame_address(0))
#define CONVLAB_ON_RANGE(...) convlab::emulation::on_range(__VA_ARGS__, __builtin_frame_address(0))
#define CONVLAB_ON_ATOMIC(address, writes, order) \
  static_cast<void>(order);                       \
  convlab::emulation::on_atomic(address, writes, __builtin_return_address(0))
#include "common/base/thread_sanitizer_calls.inc"

// Each block of the program begins with this (-fsanitize-coverage=trace-pc).
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" void __sanitizer_cov_trace_pc() {
  using namespace convlab::emulation;
  if (mode != Mode::kCounts && mode != Mode::kSteps) return;
  on_block(__builtin_return_address(0), __builtin_frame_address(0));
}

// What a traced file calls in place of functions of the C library, which are not traced
// (custom_submission/traced_kernel_calls).
extern "C" {
void* convlab_traced_copy(void* to, const void* from, std::size_t bytes) {
  convlab::emulation::on_call(from, bytes, false, __builtin_return_address(0),
                              __builtin_frame_address(0));
  convlab::emulation::on_call(to, bytes, true, __builtin_return_address(0),
                              __builtin_frame_address(0));
  return std::memmove(to, from, bytes);
}
void* convlab_traced_set(void* to, int byte, std::size_t bytes) {
  convlab::emulation::on_call(to, bytes, true, __builtin_return_address(0),
                              __builtin_frame_address(0));
  return std::memset(to, byte, bytes);
}
float convlab_traced_fmaf(float x, float y, float z) {
  convlab::emulation::on_product("float", 1, __builtin_return_address(0),
                                 __builtin_frame_address(0));
  return std::fma(x, y, z);
}
void* convlab_traced_new(std::size_t bytes) {
  void* const memory = ::operator new(bytes);
  convlab::emulation::note_heap(memory, bytes);
  return memory;
}
void* convlab_traced_malloc(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  convlab::emulation::note_heap(memory, bytes);
  return memory;
}
void convlab_traced_delete(void* memory) {
  convlab::emulation::forget_heap(memory);
  ::operator delete(memory);
}
void convlab_traced_free(void* memory) {
  convlab::emulation::forget_heap(memory);
  std::free(memory);
}
// The linker renames each function to one of its own.
[[gnu::alias("convlab_traced_copy")]] void* convlab_traced_move(void*, const void*, std::size_t);
[[gnu::alias("convlab_traced_copy")]] void* convlab_checked_copy(void*, const void*, std::size_t);
[[gnu::alias("convlab_traced_copy")]] void* convlab_checked_move(void*, const void*, std::size_t);
[[gnu::alias("convlab_traced_set")]] void* convlab_checked_set(void*, int, std::size_t);
[[gnu::alias("convlab_traced_new")]] void* convlab_traced_new_array(std::size_t);
[[gnu::alias("convlab_traced_delete")]] void convlab_traced_delete_array(void*);
void convlab_traced_delete_sized(void* memory, std::size_t /*bytes*/) {
  convlab_traced_delete(memory);
}
void convlab_traced_delete_array_sized(void* memory, std::size_t /*bytes*/) {
  convlab_traced_delete(memory);
}
}
