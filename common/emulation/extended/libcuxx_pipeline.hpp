#pragma once

// cuda::pipeline of libcu++: a queue of stages, each a batch of copies. Copies are done as late as
// the interface allows, when a consumer waits for their stage; a program that forgets to wait reads
// what was there before. Source: CUDA C++ Core Libraries, libcu++, cuda::pipeline.

#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/emulation/extended/libcuxx_barrier.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's

namespace cuda {

enum class pipeline_role { producer, consumer };

namespace detail {
/// How often a stage's place was filled and emptied, counted over all threads.
struct PipelineStage {
  ::std::uint64_t commits;
  ::std::uint64_t releases;
};
}  // namespace detail

/// What the threads of a pipeline share; make_pipeline sets it up.
template <thread_scope Scope, ::std::uint8_t Stages>
class pipeline_shared_state {
 public:
  pipeline_shared_state() = default;
  pipeline_shared_state(const pipeline_shared_state&) = delete;
  pipeline_shared_state& operator=(const pipeline_shared_state&) = delete;

  detail::PipelineStage stages[Stages];
  ::std::uint64_t producers;
  ::std::uint64_t consumers;
  ::std::uint64_t members;
};

/// A pipeline between the threads of a block.
template <thread_scope Scope>
class pipeline {
 public:
  template <class State>
  pipeline(State* state, ::std::size_t stages)
      : stages_(state->stages),
        stage_count_(stages),
        producers_(state->producers),
        consumers_(state->consumers),
        members_(&state->members) {}
  pipeline(pipeline&& other) noexcept
      : stages_(other.stages_),
        stage_count_(other.stage_count_),
        producers_(other.producers_),
        consumers_(other.consumers_),
        members_(::std::exchange(other.members_, nullptr)),
        filled_(other.filled_),
        emptied_(other.emptied_) {}
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;
  ~pipeline() {
    if (members_ != nullptr) quit();
  }

  /// Waits until the next stage is free: every consumer has released what it held before.
  void producer_acquire(CONVLAB_CALL_SITE) {
    const ::std::uint64_t wanted = filled_ / stage_count_ * consumers_;
    while (stage(filled_).releases < wanted)
      convlab::emulation::sleep_until_woken("pipeline::producer_acquire", stages_, site);
    convlab::emulation::observe_acquire(&stage(filled_).releases);
  }
  void producer_commit() {
    convlab::emulation::observe_release(&stage(filled_).commits);
    ++stage(filled_).commits;
    ++filled_;
    convlab::emulation::wake_sleepers(stages_);
  }
  /// Waits until every producer has committed the oldest stage, and its copies are done.
  void consumer_wait(CONVLAB_CALL_SITE) {
    const ::std::uint64_t wanted = (emptied_ / stage_count_ + 1) * producers_;
    while (stage(emptied_).commits < wanted)
      convlab::emulation::sleep_until_woken("pipeline::consumer_wait", stages_, site);
    convlab::emulation::bound_copies().run(stages_, emptied_);
    convlab::emulation::observe_acquire(&stage(emptied_).commits);
  }
  void consumer_release() {
    convlab::emulation::observe_release(&stage(emptied_).releases);
    ++stage(emptied_).releases;
    ++emptied_;
    convlab::emulation::wake_sleepers(stages_);
  }
  /// @return whether the caller is the last to leave
  bool quit() {
    const bool last = --*members_ == 0;
    members_ = nullptr;
    return last;
  }

  /// Adds a copy to the stage that the calling producer fills.
  void bind(const convlab::emulation::AsyncCopy& copy, detail::CallSite /*site*/) {
    convlab::emulation::bound_copies().add(stages_, filled_, copy);
  }

 private:
  [[nodiscard]] detail::PipelineStage& stage(::std::uint64_t number) const {
    return stages_[number % stage_count_];
  }

  detail::PipelineStage* stages_ = nullptr;
  ::std::uint64_t stage_count_ = 0;
  ::std::uint64_t producers_ = 0;
  ::std::uint64_t consumers_ = 0;
  ::std::uint64_t* members_ = nullptr;
  ::std::uint64_t filled_ = 0;   ///< stages that the calling thread has committed
  ::std::uint64_t emptied_ = 0;  ///< and released
};

/// A pipeline of one thread: its own asynchronous copies.
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

namespace detail {
template <class Group, thread_scope Scope, ::std::uint8_t Stages>
pipeline<Scope> begin_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state,
                               ::std::size_t producers, ::std::size_t consumers) {
  convlab::emulation::observe_object(state, sizeof *state);
  if (group.thread_rank() == 0) {
    for (detail::PipelineStage& stage : state->stages) stage = {0, 0};
    state->producers = producers;
    state->consumers = consumers;
    state->members = group.size();
  }
  group.sync();
  return pipeline<Scope>(state, Stages);
}
}  // namespace detail

/// All members of the group call it with the same state. Each of them produces and consumes.
template <class Group, thread_scope Scope, ::std::uint8_t Stages>
pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state) {
  return detail::begin_pipeline(group, state, group.size(), group.size());
}
/// The same where some threads produce and the others consume.
template <class Group, thread_scope Scope, ::std::uint8_t Stages>
pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state,
                              ::std::size_t producers) {
  return detail::begin_pipeline(group, state, producers, group.size() - producers);
}
template <class Group, thread_scope Scope, ::std::uint8_t Stages>
pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state,
                              pipeline_role role) {
  convlab::emulation::observe_object(state, sizeof *state);
  if (group.thread_rank() == 0) state->producers = 0;
  group.sync();
  if (role == pipeline_role::producer) ++state->producers;
  group.sync();
  const ::std::size_t producers = state->producers;
  group.sync();
  return detail::begin_pipeline(group, state, producers, group.size() - producers);
}

}  // namespace cuda

// NOLINTEND(readability-identifier-naming)
