// Finds races of OpenMP threads by what orders them: what a file on the CPU calls that was compiled
// to be traced (build_custom_submission.sh), in place of ThreadSanitizer and around libgomp.
//
// Idea     Only its begin, its end and its barriers order the threads of a parallel region. Between
//          two barriers no thread may write what another one uses, unless both are in a critical or
//          an atomic part. Which of them came first does not matter.
//          A task has begun after what its thread did before, and ended where that thread waits for
//          its tasks; in between it is another thread.
// Looks at all memory but the threads' own stacks, of which tasks may share a part. What the file
//          frees is forgotten: it may go to another thread.
// Gives up where something else may order threads: atomic operations with an order, regions in
//          regions, tasks in tasks. The script puts this between a file and libgomp only if the
//          file calls no other functions of threads.

#include <cxxabi.h>
#include <malloc.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/base/fault_record.hpp"

extern const char __executable_start;  // NOLINT(bugprone-reserved-identifier): of the linker
extern const char __data_start;        // NOLINT(bugprone-reserved-identifier)
extern const char _end;                // NOLINT(bugprone-reserved-identifier)

extern "C" {
using OutlinedFunction = void (*)(void*);
void GOMP_parallel(OutlinedFunction function, void* data, unsigned threads, unsigned flags);
void GOMP_task(OutlinedFunction function, void* data, void (*copy)(void*, void*), long size,
               long alignment, bool is_deferred, unsigned flags, void** depends, int priority,
               void* detach);
void GOMP_taskwait();
}

namespace {

using convlab::FaultKind;
using convlab::FaultRecord;
using convlab::RaceFacts;
using convlab::RaceScope;
using convlab::RaceSide;

constexpr std::uintptr_t kWord = 4;

/// The threads of one parallel region.
struct Team {
  std::uintptr_t frame_begin = 0;  ///< of the stack of who began the region
  std::uintptr_t frame_end = 0;
};

/// Who touches memory, and when.
struct Touch {
  std::uint64_t team = 0;
  unsigned phase = 0;    ///< barriers passed
  unsigned thread = 0;   ///< or task
  unsigned creator = 0;  ///< of the task; a thread's own number
  unsigned created = 0;  ///< tasks of this creator so far
  unsigned waits = 0;    ///< times that it waited for them
  bool guarded = false;
  std::uintptr_t place = 0;
};

struct Word {
  Touch write;
  Touch read;
  Touch other_read;  ///< by another thread than `read`
};

struct Self {
  Touch now;
  Team team;
  int guards = 0;
  int initialised = 0;                       ///< static variables that it initialises now
  const volatile void* awaited = nullptr;    ///< see on_atomic
  std::uintptr_t shared_from = UINTPTR_MAX;  ///< of its own stack: its tasks may use the rest
};

Self& self() {
  thread_local Self instance;
  return instance;
}

/// By address: few threads wait for each other.
struct Words {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, Word> words;
};

struct Detector {
  std::array<Words, 64> parts;
  std::mutex mutex;  ///< of the race
  std::optional<RaceFacts> race;
  bool is_element = false;                ///< of an array, not a variable with a name
  std::set<const volatile void*> guards;  ///< of static variables
  std::atomic<bool> gave_up = false;
  std::atomic<std::uint64_t> teams = 0;
  std::atomic<unsigned> tasks = 0;
};

Detector& detector() {
  static auto* const instance = new Detector;
  return *instance;
}

Words& part_of(std::uintptr_t word) {
  constexpr std::uintptr_t kLine = 64;
  auto& parts = detector().parts;
  return parts[word / kLine % parts.size()];
}

/// Where the stack of this thread begins and ends.
const std::pair<std::uintptr_t, std::uintptr_t>& stack() {
  thread_local const auto instance = [] {
    pthread_attr_t attributes;
    void* lowest = nullptr;
    std::size_t size = 0;
    if (::pthread_getattr_np(::pthread_self(), &attributes) == 0) {
      ::pthread_attr_getstack(&attributes, &lowest, &size);
      ::pthread_attr_destroy(&attributes);
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(lowest);
    return std::pair(begin, begin + size);
  }();
  return instance;
}

bool has_name(std::uintptr_t address, const Team& team) {
  if (address >= team.frame_begin && address < team.frame_end) return true;
  return address >= reinterpret_cast<std::uintptr_t>(&__data_start) &&
         address < reinterpret_cast<std::uintptr_t>(&_end);
}

// A thread's own variables lie below the frame of who began the region.
bool may_be_shared(std::uintptr_t address, const Self& who) {
  const auto [begin, end] = stack();
  const bool is_own = address >= begin && address < end;
  return !is_own || address >= who.shared_from ||
         (address >= who.team.frame_begin && address < who.team.frame_end);
}

bool races(const Touch& before, const Touch& now) {
  if (before.creator == now.creator) {
    const bool is_created_later =
        before.thread == now.creator && before.created < now.created && now.thread != now.creator;
    if (before.waits != now.waits || is_created_later) return false;
  }
  return before.team == now.team && before.phase == now.phase && before.thread != now.thread &&
         !(before.guarded && now.guarded);
}

void tell(const Touch& before, bool before_writes, const Touch& now, bool now_writes,
          bool is_element) {
  Detector& all = detector();
  const std::lock_guard lock(all.mutex);
  if (all.race) return;
  all.is_element = is_element;
  const auto side = [](const Touch& touch, bool writes) {
    return RaceSide{.thread = {touch.thread, 0, 0},
                    .writes = writes,
                    .code = touch.place - reinterpret_cast<std::uintptr_t>(&__executable_start)};
  };
  all.race = RaceFacts{.scope = RaceScope::kTeam,
                       .first = side(before, before_writes),
                       .second = side(now, now_writes)};
}

void give_up() {
  detector().gave_up = true;
}

// Relaxed operations order nothing: OpenMP's own atomic parts and reductions are made of them.
// A static variable of a function has a guard, a byte that is loaded with acquire: nobody else
// waits for who initialises it. Where the byte is zero, __cxa_guard_acquire must come next.
template <class T>
void on_atomic(const volatile T* address, bool writes, int order) {
  if (std::exchange(self().awaited, nullptr) != nullptr) give_up();
  if (order == __ATOMIC_RELAXED) return;
  if (sizeof(T) > 1 || writes || order != __ATOMIC_ACQUIRE) return give_up();
  Detector& all = detector();
  const std::lock_guard lock(all.mutex);
  if (all.guards.contains(address)) return;
  if (*address != 0) return give_up();
  self().awaited = address;
}

void on_atomic(std::nullptr_t /*fence*/, bool /*writes*/, int order) {
  if (order != __ATOMIC_RELAXED) give_up();
}

void on_access(const void* pointer, std::size_t bytes, bool writes, const void* caller) {
  Self& own = self();
  if (std::exchange(own.awaited, nullptr) != nullptr) give_up();
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  // Whoever uses what is initialised has waited for that.
  if (own.initialised > 0) return;
  if (own.now.team == 0 || !may_be_shared(address, own)) return;
  Touch now = own.now;
  now.guarded = own.guards > 0;
  now.place = reinterpret_cast<std::uintptr_t>(caller) - 1;
  const bool is_element = !has_name(address, own.team);
  // Of less than a word each byte may belong to another thread.
  for (auto at = address; at < address + bytes; at += kWord) {
    Words& part = part_of(at);
    const std::lock_guard lock(part.mutex);
    Word& word = part.words[at];
    if (races(word.write, now)) tell(word.write, true, now, writes, is_element);
    if (!writes) {
      if (word.read.thread != now.thread) word.other_read = word.read;
      word.read = now;
      continue;
    }
    for (const Touch& read : {word.read, word.other_read})
      if (races(read, now)) tell(read, false, now, true, is_element);
    word.write = now;
  }
}

void run_as(const Self& who, OutlinedFunction function, void* data) {
  const Self before = std::exchange(self(), who);
  function(data);
  self() = before;
}

/// Runs the function of a region in each of its threads.
struct Region {
  OutlinedFunction function;
  void* data;
  std::uint64_t number;
  Team team;
  std::atomic<unsigned> next = 0;

  static void run(void* region) {
    auto& of = *static_cast<Region*>(region);
    const unsigned thread = of.next.fetch_add(1);
    run_as({.now = {.team = of.number, .thread = thread, .creator = thread}, .team = of.team},
           of.function, of.data);
  }
};

void forget(const void* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  for (auto at = begin; at < begin + bytes; ++at) {
    Words& part = part_of(at);
    const std::lock_guard lock(part.mutex);
    part.words.erase(at);
  }
}

void forget(void* memory) {
  if (self().now.team != 0 && memory != nullptr) forget(memory, ::malloc_usable_size(memory));
}

/// Runs the function of a task. Its data follows; libgomp has copied both.
struct alignas(std::max_align_t) Task {
  OutlinedFunction function;
  std::size_t bytes;
  Self own;

  static void run(void* memory) {
    auto* const task = static_cast<Task*>(memory);
    task->own.shared_from = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    run_as(task->own, task->function, task + 1);
    forget(task + 1, task->bytes);  // the next task may get this memory
  }
};

std::optional<FaultRecord> take_race() {
  Detector& all = detector();
  const std::lock_guard lock(all.mutex);
  std::optional<FaultRecord> record;
  if (all.race && !all.gave_up) {
    record.emplace();
    record->kind = FaultKind::kRace;
    record->text = "two threads of a parallel loop use one variable";
    if (all.is_element) record->array = "an array";
    record->race = all.race;
  }
  for (Words& part : all.parts) part.words.clear();
  all.race.reset();
  return record;
}

[[maybe_unused]] const bool is_registered = [] {
  convlab::race_source = take_race;
  return true;
}();

}  // namespace

#define CONVLAB_ON_ACCESS(address, bytes, writes, is_volatile, caller) \
  on_access(address, bytes, writes, caller)
#define CONVLAB_ON_ATOMIC(address, writes, order) on_atomic(address, writes, order)
#include "common/base/thread_sanitizer_calls.inc"

// ---- what the file calls in place of libgomp (traced_calls) -------------------------------------

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

[[gnu::noinline]] void convlab_GOMP_parallel(OutlinedFunction function, void* data,
                                             unsigned threads, unsigned flags) {
  if (self().now.team != 0) give_up();
  Region region{
      .function = function,
      .data = data,
      .number = ++detector().teams,
      .team = {.frame_begin = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)),
               .frame_end = stack().second}};
  GOMP_parallel(&Region::run, &region, threads, flags);
}

[[gnu::noinline]] void convlab_GOMP_task(OutlinedFunction function, void* data,
                                         void (*copy)(void*, void*), long size, long alignment,
                                         bool is_deferred, unsigned flags, void** depends,
                                         int priority, void* detach) {
  Self& own = self();
  const bool is_plain = copy == nullptr && depends == nullptr && own.now.thread == own.now.creator;
  if (!is_plain) give_up();
  if (!is_plain || !is_deferred || own.now.team == 0) {
    GOMP_task(function, data, copy, size, alignment, is_deferred, flags, depends, priority, detach);
    return;
  }
  own.shared_from = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  ++own.now.created;
  std::vector<std::byte> memory(sizeof(Task) + static_cast<std::size_t>(size));
  auto* const task = new (memory.data())
      Task{.function = function, .bytes = static_cast<std::size_t>(size), .own = own};
  task->own.now.thread = RaceSide::kFirstTask + detector().tasks++;
  std::memcpy(task + 1, data, task->bytes);
  GOMP_task(&Task::run, task, nullptr, static_cast<long>(memory.size()), alignof(Task), true, flags,
            nullptr, priority, detach);
}

void convlab_GOMP_taskwait() {
  GOMP_taskwait();
  ++self().now.waits;
}

#define CONVLAB_BARRIER(name) \
  void name();                \
  void convlab_##name() {     \
    name();                   \
    ++self().now.phase;       \
  }
CONVLAB_BARRIER(GOMP_barrier)
CONVLAB_BARRIER(GOMP_loop_end)
CONVLAB_BARRIER(GOMP_sections_end)

#define CONVLAB_GUARDED(part, parameter, argument) \
  void part##_start(parameter);                    \
  void part##_end(parameter);                      \
  void convlab_##part##_start(parameter) {         \
    part##_start(argument);                        \
    ++self().guards;                               \
  }                                                \
  void convlab_##part##_end(parameter) {           \
    --self().guards;                               \
    part##_end(argument);                          \
  }
CONVLAB_GUARDED(GOMP_critical, , )
CONVLAB_GUARDED(GOMP_critical_name, void** name, name)
CONVLAB_GUARDED(GOMP_atomic, , )

int convlab_guard_acquire(abi::__guard* guard) {
  if (std::exchange(self().awaited, nullptr) == guard) {
    const std::lock_guard lock(detector().mutex);
    detector().guards.insert(guard);
  }
  const int is_first = abi::__cxa_guard_acquire(guard);
  self().initialised += is_first;
  return is_first;
}
#define CONVLAB_INITIALISED(name)                           \
  void convlab_guard_##name(abi::__guard* guard) noexcept { \
    abi::__cxa_guard_##name(guard);                         \
    --self().initialised;                                   \
  }
CONVLAB_INITIALISED(release)
CONVLAB_INITIALISED(abort)
void convlab_free(void* memory) {
  forget(memory);
  std::free(memory);
}
void convlab_delete(void* memory) {
  forget(memory);
  ::operator delete(memory);
}
// The linker renames each function to one of its own.
[[gnu::alias("convlab_delete")]] void convlab_delete_array(void*);
[[gnu::alias("convlab_delete")]] void convlab_delete_sized(void*);
}
// NOLINTEND(readability-identifier-naming)
