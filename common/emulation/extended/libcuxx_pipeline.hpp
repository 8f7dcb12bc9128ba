#pragma once

// cuda::pipeline of libcu++, for one thread: its own asynchronous copies in batches, done when it
// waits for them. Threads of a block that share a pipeline are refused in words.
// Source: CUDA C++ Core Libraries, libcu++, cuda::pipeline.

#include <cstddef>
#include <cstdint>

#include "common/emulation/extended/libcuxx_barrier.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

namespace cuda {

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
    convlab::emulation::async_copies().add(copy.to, copy.from, copy.bytes, 0, copy.site);
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

// NOLINTEND(readability-identifier-naming)
