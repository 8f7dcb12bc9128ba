#pragma once

// libcu++: atomic variables, latches, semaphores, barriers, pipelines, and its name for the
// standard library. Source: CUDA C++ Core Libraries, libcu++, Synchronization Primitives.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "common/emulation/include/convlab_emulation/async_copy.hpp"
#include "common/emulation/include/convlab_emulation/device_functions.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

namespace cuda {

// ---- atomic variables ---------------------------------------------------------------------------
// A change is atomic in every scope, because the threads of a block run on one core and blocks take
// their turns (device_functions.hpp); memory orders make no difference.

enum thread_scope {
  thread_scope_system,
  thread_scope_device,
  thread_scope_block,
  thread_scope_thread = 10,
};

using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;

constexpr bool is_in_block(thread_scope scope) {
  return scope == thread_scope_block || scope == thread_scope_thread;
}

inline void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system) {
  ::std::atomic_thread_fence(order);
  if (order != memory_order_relaxed) convlab::emulation::observe_fence(is_in_block(scope));
}

namespace detail {

/// The operations of atomic and atomic_ref, whose address() is that of the value.
template <class Self, class T, thread_scope Scope>
class atomic_operations {
 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;

  [[nodiscard]] bool is_lock_free() const { return true; }
  [[nodiscard]] T load(memory_order order = memory_order_seq_cst) const {
    return convlab::emulation::atomic_read(address(), kind(order));
  }
  void store(T value, memory_order order = memory_order_seq_cst) const {
    change(
        order, [=](T) { return value; }, convlab::emulation::kAtomicStores);
  }
  /// @param order  on success; that of a failure makes no difference
  bool compare_exchange_strong(T& expected, T value, memory_order order = memory_order_seq_cst,
                               memory_order /*failure*/ = memory_order_seq_cst) const {
    const T wanted = expected;
    expected = change(order, [=](T old) { return old == wanted ? value : old; });
    return expected == wanted;
  }
  bool compare_exchange_weak(T& expected, T value, memory_order order = memory_order_seq_cst,
                             memory_order /*failure*/ = memory_order_seq_cst) const {
    return compare_exchange_strong(expected, value, order);
  }

  template <class Value = T>
  T fetch_add(Value value, memory_order order = memory_order_seq_cst) const {
    return change(order, [=](T old) { return convlab::emulation::wrapped_sum(old, value); });
  }
  template <class Value = T>
  T fetch_sub(Value value, memory_order order = memory_order_seq_cst) const {
    return change(order, [=](T old) { return convlab::emulation::wrapped_difference(old, value); });
  }

  /// Until it is no longer `old`. Blocks take their turns, so asking again costs nothing else.
  void wait(T old, memory_order order = memory_order_seq_cst) const {
    while (load(order) == old) {
    }
  }
  void notify_one() const {}
  void notify_all() const {}

  operator T() const { return load(); }
  T operator+=(T value) const { return convlab::emulation::wrapped_sum(fetch_add(value), value); }
  T operator-=(T value) const {
    return convlab::emulation::wrapped_difference(fetch_sub(value), value);
  }
  T operator&=(T value) const { return static_cast<T>(fetch_and(value) & value); }
  T operator|=(T value) const { return static_cast<T>(fetch_or(value) | value); }
  T operator^=(T value) const { return static_cast<T>(fetch_xor(value) ^ value); }
  T operator++() const { return convlab::emulation::wrapped_sum(fetch_add(1), 1); }
  T operator--() const { return convlab::emulation::wrapped_difference(fetch_sub(1), 1); }
  T operator++(int) const { return fetch_add(1); }
  T operator--(int) const { return fetch_sub(1); }

 private:
  [[nodiscard]] T* address() const { return static_cast<const Self*>(this)->address(); }
  template <class Change>
  [[gnu::always_inline]] T change(memory_order order, Change change, unsigned more = 0) const {
    return convlab::emulation::atomic_update(address(), change, kind(order) | more);
  }
  static constexpr unsigned kind(memory_order order) {
    return (order == memory_order_relaxed ? 0U : unsigned{convlab::emulation::kAtomicOrders}) |
           (is_in_block(Scope) ? unsigned{convlab::emulation::kAtomicInBlock} : 0U);
  }

 public:
#define CONVLAB_FETCH(name, expression)                                                       \
  T name(T value, memory_order order = memory_order_seq_cst) const {                          \
    return change(order, [=]([[maybe_unused]] T old) { return static_cast<T>(expression); }); \
  }
  CONVLAB_FETCH(fetch_and, old& value)
  CONVLAB_FETCH(fetch_or, old | value)
  CONVLAB_FETCH(fetch_xor, old ^ value)
  CONVLAB_FETCH(fetch_min, ::std::min(old, value))
  CONVLAB_FETCH(fetch_max, ::std::max(old, value))
#undef CONVLAB_FETCH
  T exchange(T value, memory_order order = memory_order_seq_cst) const {
    return change(
        order, [=](T) { return value; }, convlab::emulation::kAtomicStores);
  }
};

}  // namespace detail

/// Atomic operations on a variable that is none.
template <class T, thread_scope Scope = thread_scope_system>
class atomic_ref : public detail::atomic_operations<atomic_ref<T, Scope>, T, Scope> {
 public:
  static constexpr ::std::size_t required_alignment = sizeof(T);

  explicit atomic_ref(T& value) : value_(&value) {}
  T operator=(T value) const {
    this->store(value);
    return value;
  }

 private:
  friend detail::atomic_operations<atomic_ref, T, Scope>;
  [[nodiscard]] T* address() const { return value_; }

  T* value_;
};

/// An atomic variable. As a __shared__ variable it begins with any value, as on a GPU.
template <class T, thread_scope Scope = thread_scope_system>
class atomic : public detail::atomic_operations<atomic<T, Scope>, T, Scope> {
 public:
  atomic() = default;
  constexpr atomic(T value) : value_(value) {}
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
  T operator=(T value) {
    this->store(value);
    return value;
  }

 private:
  friend detail::atomic_operations<atomic, T, Scope>;
  [[nodiscard]] T* address() const { return &value_; }

  mutable T value_;
};

// ---- latches and semaphores: counters that threads wait for -------------------------------------

/// Opens once, when it was counted down `expected` times.
template <thread_scope Scope>
class latch {
 public:
  constexpr explicit latch(::std::ptrdiff_t expected) : missing_(expected) {}
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;
  static constexpr ::std::ptrdiff_t max() {
    return (::std::numeric_limits<::std::ptrdiff_t>::max)();
  }

  void count_down(::std::ptrdiff_t count = 1) { missing_.fetch_sub(count, memory_order_acq_rel); }
  [[nodiscard]] bool try_wait() const { return missing_.load(memory_order_acquire) == 0; }
  void wait() const {
    while (!try_wait()) {
    }
  }
  void arrive_and_wait(::std::ptrdiff_t count = 1) {
    count_down(count);
    wait();
  }

 private:
  atomic<::std::ptrdiff_t, Scope> missing_;
};

/// So many threads at most are between acquire() and release().
template <thread_scope Scope,
          ::std::ptrdiff_t Most = (::std::numeric_limits<::std::ptrdiff_t>::max)()>
class counting_semaphore {
 public:
  constexpr explicit counting_semaphore(::std::ptrdiff_t free) : free_(free) {}
  counting_semaphore(const counting_semaphore&) = delete;
  counting_semaphore& operator=(const counting_semaphore&) = delete;
  static constexpr ::std::ptrdiff_t max() { return Most; }

  void release(::std::ptrdiff_t count = 1) { free_.fetch_add(count, memory_order_release); }
  bool try_acquire() {
    ::std::ptrdiff_t seen = free_.load(memory_order_relaxed);
    return seen > 0 && free_.compare_exchange_strong(seen, seen - 1, memory_order_acquire);
  }
  void acquire() {
    while (!try_acquire()) {
    }
  }

 private:
  atomic<::std::ptrdiff_t, Scope> free_;
};
template <thread_scope Scope>
using binary_semaphore = counting_semaphore<Scope, 1>;

// ---- barriers, and copies that they wait for ----------------------------------------------------
// Such a copy is done as late as the interface allows: when the barrier opens.

/// A number of bytes, with the alignment that both ends of a copy promise.
template <::std::size_t Alignment>
struct aligned_size_t {
  static constexpr ::std::size_t align = Alignment;
  ::std::size_t value;
  constexpr explicit aligned_size_t(::std::size_t size) : value(size) {}
  constexpr operator ::std::size_t() const { return value; }
};

namespace detail {
using convlab::emulation::CallSite;

/// A group of which the calling thread is the only member.
struct single_thread {
  [[nodiscard]] static ::std::size_t size() { return 1; }
  [[nodiscard]] static ::std::size_t thread_rank() { return 0; }
};
}  // namespace detail

/// Threads of a block meet again and again. In shared memory it begins with init().
template <thread_scope Scope>
class barrier {
 public:
  class arrival_token {
    friend class barrier;
    explicit arrival_token(::std::uint64_t phase) : phase_(phase) {}
    ::std::uint64_t phase_;
  };

  barrier() = default;
  explicit barrier(::std::ptrdiff_t expected) { begin(expected); }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  friend void init(barrier* self, ::std::ptrdiff_t expected) { self->begin(expected); }
  static constexpr ::std::ptrdiff_t max() { return (1 << 20) - 1; }

  [[nodiscard]] arrival_token arrive(::std::ptrdiff_t count = 1, CONVLAB_CALL_SITE) {
    check_begun(site);
    if (count > missing_)
      convlab::emulation::fail_kernel(convlab::emulation::KernelFault::kLaunchFailure, site,
                                      "more threads arrive at a barrier than it expects");
    const arrival_token token(phase_);
    convlab::emulation::observe_release(phase_object(phase_));
    missing_ -= count;
    if (missing_ == 0) open();
    return token;
  }
  void wait(arrival_token&& token, CONVLAB_CALL_SITE) const {
    check_begun(site);
    while (phase_ == token.phase_)
      convlab::emulation::sleep_until_woken("barrier::wait", this, site);
    convlab::emulation::observe_acquire(phase_object(token.phase_));
  }
  void arrive_and_wait(CONVLAB_CALL_SITE) { wait(arrive(1, site), site); }
  void arrive_and_drop(CONVLAB_CALL_SITE) {
    check_begun(site);
    --expected_;
    static_cast<void>(arrive(1, site));
  }

  /// Adds a copy that ends with the current phase.
  void bind(const convlab::emulation::AsyncCopy& copy, detail::CallSite site) {
    check_begun(site);
    convlab::emulation::bind_copy(this, copy);
  }

 private:
  static constexpr ::std::uint32_t kBegun = 0xba441e40U;

  /// What orders the threads of a phase: one object for every other phase.
  [[nodiscard]] const void* phase_object(::std::uint64_t phase) const {
    return reinterpret_cast<const char*>(this) + phase % 2;
  }
  void begin(::std::ptrdiff_t expected) {
    convlab::emulation::observe_object(this, sizeof *this);
    begun_ = kBegun;
    expected_ = missing_ = expected;
    phase_ = 0;
  }
  void check_begun(detail::CallSite site) const {
    if (begun_ == kBegun) return;
    convlab::emulation::fail_kernel(
        convlab::emulation::KernelFault::kLaunchFailure, site,
        "a barrier is used before init(): one thread calls it, then __syncthreads()");
  }
  void open() {
    convlab::emulation::run_bound_copies(this);
    missing_ = expected_;
    ++phase_;
    convlab::emulation::wake_sleepers(this);
  }

  ::std::uint32_t begun_;
  ::std::ptrdiff_t expected_;
  ::std::ptrdiff_t missing_;
  ::std::uint64_t phase_;
};

/// Begins to copy `size` bytes. Waiting for the phase of a barrier, or for the stage of a pipeline
/// that the calling thread fills, waits for the copy, too. All members of a group call it with the
/// same arguments.
/// @param at  the barrier or the pipeline
template <class Group, class To, class From, class Size, class Awaited>
void memcpy_async(const Group& group, To* to, const From* from, Size size, Awaited& at,
                  CONVLAB_CALL_SITE) {
  at.bind(convlab::emulation::member_copy(group, to, from, size, site), site);
}
template <class To, class From, class Size, class Awaited>
void memcpy_async(To* to, const From* from, Size size, Awaited& at, CONVLAB_CALL_SITE) {
  memcpy_async(detail::single_thread(), to, from, size, at, site);
}

// ---- pipelines of one thread --------------------------------------------------------------------
// Its own asynchronous copies in batches, done when it waits for them. Threads of a block that
// share a pipeline are refused in words.

enum class pipeline_role { producer, consumer };

template <thread_scope Scope, ::std::uint8_t Stages>
class pipeline_shared_state {};

template <thread_scope Scope>
class pipeline;

template <>
class pipeline<thread_scope_thread> {
 public:
  pipeline(pipeline&&) = default;
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  void producer_acquire() {}
  void producer_commit() {
    convlab::emulation::async_copies().commit();
    ++committed_;
  }
  void consumer_wait() {
    if (waited_ == committed_) return;
    ++waited_;
    convlab::emulation::async_copies().wait_prior(committed_ - waited_);
  }
  void consumer_release() {}
  bool quit() { return true; }
  void bind(const convlab::emulation::AsyncCopy& copy, detail::CallSite /*site*/) {
    convlab::emulation::async_copies().add(copy);
  }

 private:
  pipeline() = default;
  friend pipeline<thread_scope_thread> make_pipeline();
  template <::std::uint8_t Prior>
  friend void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>& pipe);

  ::std::size_t committed_ = 0;
  ::std::size_t waited_ = 0;
};

inline pipeline<thread_scope_thread> make_pipeline() {
  return {};
}

/// Waits for all stages but the last Prior ones.
template <::std::uint8_t Prior>
void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>& pipe) {
  convlab::emulation::async_copies().wait_prior(Prior);
  pipe.waited_ = pipe.committed_ > Prior ? pipe.committed_ - Prior : 0;
}

/// Of all threads of a group.
template <class Group, thread_scope Scope, ::std::uint8_t Stages, class... Roles>
pipeline<thread_scope_thread> make_pipeline(const Group& /*group*/,
                                            pipeline_shared_state<Scope, Stages>* /*state*/,
                                            Roles... /*roles*/) {
  static_assert(
      Stages == 0,
      "a pipeline that threads share cannot be emulated: let each thread copy its part by "
      "make_pipeline(), or use a cuda::barrier");
  return make_pipeline();
}

}  // namespace cuda

/// The host's standard library under libcu++'s name. What synchronises threads is cuda's own.
namespace cuda::std {

using namespace ::std;

template <class T>
using atomic = ::cuda::atomic<T, thread_scope_system>;
template <class T>
using atomic_ref = ::cuda::atomic_ref<T, thread_scope_system>;
template <class Completion = void, class = enable_if_t<is_void_v<Completion>>>
using barrier = ::cuda::barrier<thread_scope_system>;
template <::std::ptrdiff_t Most = ::cuda::counting_semaphore<thread_scope_system>::max()>
using counting_semaphore = ::cuda::counting_semaphore<thread_scope_system, Most>;
using binary_semaphore = ::cuda::binary_semaphore<thread_scope_system>;

}  // namespace cuda::std

// NOLINTEND(readability-identifier-naming)
