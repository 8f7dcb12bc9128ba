#pragma once

// cuda::barrier of libcu++, and memcpy_async that a barrier waits for. Such a copy is done as late
// as the interface allows: when the barrier opens. Source: CUDA C++ Core Libraries, libcu++,
// cuda::barrier and cuda::memcpy_async.

#include <cstddef>
#include <cstdint>

#include "common/emulation/extended/libcuxx_atomic.hpp"
#include "common/emulation/include/convlab_emulation/async_copy.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

namespace cuda {

/// A number of bytes, with the alignment of both ends of a copy.
template <::std::size_t Alignment>
struct aligned_size_t {
  static constexpr ::std::size_t align = Alignment;
  ::std::size_t value;
  constexpr explicit aligned_size_t(::std::size_t size) : value(size) {}
  constexpr operator ::std::size_t() const { return value; }
};

namespace detail {
using convlab::emulation::CallSite;
using convlab::emulation::Here;

struct no_completion {
  void operator()() const {}
};

template <class Size>
constexpr ::std::size_t alignment_of_size = 1;
template <::std::size_t Alignment>
constexpr ::std::size_t alignment_of_size<aligned_size_t<Alignment>> = Alignment;

/// Fails the kernel where a pointer lacks the alignment that the copy promised.
inline void check_alignment(const void* to, const void* from, ::std::size_t alignment,
                            CallSite site) {
  const auto is_off = [&](const void* address) {
    return reinterpret_cast<::std::uintptr_t>(address) % alignment != 0;
  };
  if (!is_off(to) && !is_off(from)) return;
  convlab::emulation::fail_kernel(
      convlab::emulation::KernelFault::kMisalignedAddress, site,
      "memcpy_async: the %s is not aligned to the %zu bytes that the call promises",
      is_off(to) ? "destination" : "source", alignment);
}

/// A group of which the calling thread is the only member.
struct single_thread {
  [[nodiscard]] static ::std::size_t size() { return 1; }
  [[nodiscard]] static ::std::size_t thread_rank() { return 0; }
};

/// The copy that the calling member of a group makes.
template <class Group, class Size>
convlab::emulation::AsyncCopy member_copy(const Group& group, void* to, const void* from, Size size,
                                          CallSite site) {
  check_alignment(to, from, alignment_of_size<Size>, site);
  const auto share = convlab::emulation::share_of(size, group.thread_rank(), group.size());
  return {static_cast<unsigned char*>(to) + share.begin,
          static_cast<const unsigned char*>(from) + share.begin, share.bytes, 0, site};
}
}  // namespace detail

/// Threads of a block meet again and again. In shared memory it begins with init().
template <thread_scope Scope, class Completion = detail::no_completion>
class barrier {
 public:
  class arrival_token {
    friend class barrier;
    explicit arrival_token(::std::uint64_t phase) : phase_(phase) {}
    ::std::uint64_t phase_;
  };

  barrier() = default;
  explicit barrier(::std::ptrdiff_t expected, Completion completion = Completion()) {
    begin(expected, completion);
  }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  friend void init(barrier* self, ::std::ptrdiff_t expected, Completion completion = Completion()) {
    self->begin(expected, completion);
  }
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
  void begin(::std::ptrdiff_t expected, Completion completion) {
    convlab::emulation::observe_object(this, sizeof *this);
    begun_ = kBegun;
    expected_ = missing_ = expected;
    phase_ = 0;
    completion_ = completion;
  }
  void check_begun(detail::CallSite site) const {
    if (begun_ == kBegun) return;
    convlab::emulation::fail_kernel(
        convlab::emulation::KernelFault::kLaunchFailure, site,
        "a barrier is used before init(): one thread calls it, then __syncthreads()");
  }
  void open() {
    convlab::emulation::run_bound_copies(this);
    completion_();
    missing_ = expected_;
    ++phase_;
    convlab::emulation::wake_sleepers(this);
  }

  ::std::uint32_t begun_;
  ::std::ptrdiff_t expected_;
  ::std::ptrdiff_t missing_;
  ::std::uint64_t phase_;
  [[no_unique_address]] Completion completion_;
};

/// Begins to copy `size` bytes. Waiting for the phase of a barrier, or for the stage of a pipeline
/// that the calling thread fills, waits for the copy, too. All members of a group call it with the
/// same arguments.
/// @param at  the barrier or the pipeline
template <class Group, class To, class From, class Size, class Awaited>
void memcpy_async(const Group& group, To* to, const From* from, Size size, Awaited& at,
                  CONVLAB_CALL_SITE) {
  at.bind(detail::member_copy(group, to, from, size, site), site);
}
template <class To, class From, class Size, class Awaited>
void memcpy_async(To* to, const From* from, Size size, Awaited& at, CONVLAB_CALL_SITE) {
  memcpy_async(detail::single_thread(), to, from, size, at, site);
}

}  // namespace cuda

// NOLINTEND(readability-identifier-naming)
