#include "common/emulation/runtime/stream.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "common/emulation/include/convlab_emulation/activity.hpp"
#include "common/emulation/include/convlab_emulation/runtime_api.hpp"
#include "common/emulation/runtime/observer.hpp"
#include "common/emulation/runtime/settings.hpp"

namespace convlab::emulation {

namespace {

using Known = std::map<int, int>;

void join(Known& known, const RunningWork& work, Known RunningWork::*before) {
  const auto add = [&](int stream, int number) {
    int& last = known[stream];
    last = std::max(last, number);
  };
  for (const auto& [stream, number] : work.*before) add(stream, number);
  add(work.stream, work.number);
}

/// What this thread of the host has waited for, by stream.
thread_local Known known_here;

// One operation runs at a time.
int graphs_launched = 0;
int first_stream = -1;

}  // namespace

GraphLaunch::GraphLaunch() {
  ++graphs_launched;
}
GraphLaunch::~GraphLaunch() {
  --graphs_launched;
}

void forget_first_stream() {
  first_stream = -1;
}

bool does_kernel(int device, const char* name) {
  const RunningWork* const work = streams().running_work();
  if (work != nullptr && first_stream < 0) first_stream = work->stream;
  const bool is_first = work != nullptr && work->stream == first_stream;
  switch (settings().work) {
    case Work::kGraphs:
      return graphs_launched > 0;
    case Work::kFirstStream:
      return is_first;
    case Work::kOtherStreams:
      return !is_first;
    case Work::kFirstDevice:
      return device == 0;
    case Work::kSecondDevice:
      return device != 0;
    case Work::kSamples: {
      // Who launches for each image does so thousands of times.
      constexpr unsigned kFirst = 64;
      static std::atomic<unsigned> launches = 0;
      const unsigned launch = launches++;
      return launch < kFirst || launch % (2 * kFirst) == kFirst;
    }
    case Work::kNoKernels:
      return !settings().leaves_out(name);
    default:
      return true;
  }
}

StreamScheduler::StreamScheduler() {
  streams_.push_back(std::make_unique<CUstream_st>());  // legacy
  streams_.push_back(std::make_unique<CUstream_st>());  // per thread: one for all host threads
  streams_[1]->number = 1;
}

CUstream_st* StreamScheduler::resolve(cudaStream_t handle) {
  const std::lock_guard lock(mutex_);
  if (handle == nullptr || handle == cudaStreamLegacy) return streams_[0].get();
  if (handle == cudaStreamPerThread) return streams_[1].get();
  const auto found =
      std::ranges::find_if(streams_, [&](const auto& stream) { return stream.get() == handle; });
  return found == streams_.end() ? nullptr : found->get();
}

cudaStream_t StreamScheduler::create(unsigned flags) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(std::make_unique<CUstream_st>());
  static int made = 1;
  streams_.back()->number = ++made;
  streams_.back()->blocking = (flags & cudaStreamNonBlocking) == 0;
  ++live_objects;
  return streams_.back().get();
}

cudaError_t StreamScheduler::destroy(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(streams_.begin() + 2, streams_.end(),
                                  [&](const auto& other) { return other.get() == stream; });
  if (found == streams_.end()) return cudaErrorInvalidResourceHandle;
  // CUDA lets the work of a destroyed stream finish, and the host does not wait for it.
  if ((*found)->last) {
    if ((*found)->blocking) streams_[0]->waits.push_back((*found)->last);
    left_.push_back((*found)->last);
  }
  streams_.erase(found);
  --live_objects;
  return cudaSuccess;
}

std::shared_ptr<Operation> StreamScheduler::append(CUstream_st& stream, Action action) {
  auto operation = std::make_shared<Operation>();
  operation->action = std::move(action);
  const auto follow = [&](const std::shared_ptr<Operation>& earlier) {
    if (observer != nullptr && earlier) {
      join(operation->place.before, earlier->place, &RunningWork::before);
      join(operation->place.surely_before, earlier->place, &RunningWork::surely_before);
    }
    if (earlier && !earlier->done) operation->before.push_back(earlier);
  };
  if (observer != nullptr) {
    operation->place.before = known_;
    operation->place.surely_before = known_here;
  }
  follow(stream.last);
  for (const auto& event : stream.waits) follow(event);
  stream.waits.clear();
  CUstream_st& legacy = *streams_[0];
  if (&stream == &legacy) {
    for (const auto& other : streams_)
      if (other->blocking) follow(other->last);
  } else if (stream.blocking) {
    follow(legacy.last);
  }
  operation->place.stream = stream.number;
  operation->place.number = ++operations_;
  stream.last = operation;
  if (!settings().lazy_streams) run(operation);
  return operation;
}

/// Runs what must come before, then the operation; without recursion, for long streams.
void StreamScheduler::run(const std::shared_ptr<Operation>& operation) {
  std::vector<std::shared_ptr<Operation>> stack{operation};
  while (!stack.empty()) {
    const std::shared_ptr<Operation> top = stack.back();
    const auto open =
        std::ranges::find_if(top->before, [](const auto& earlier) { return !earlier->done; });
    if (!top->done && open != top->before.end()) {
      stack.push_back(*open);
      continue;
    }
    stack.pop_back();
    if (top->done) continue;
    top->done = true;
    top->before.clear();
    const Action action = std::exchange(top->action, nullptr);
    running_ = &top->place;
    action();
    running_ = nullptr;
  }
}

void StreamScheduler::submit(CUstream_st& stream, Action action, cudaGraphNodeType type,
                             std::size_t bytes, const Action& instead) {
  constexpr std::size_t kMostNoted = 512;
  const std::lock_guard lock(mutex_);
  if (!stream.capture) {
    const bool is_kernel = type == cudaGraphNodeTypeKernel;
    std::string name;
    if (is_kernel || bytes > 0)
      name = std::to_string(stream.number) + "." + std::to_string(named_[stream.number]++);
    const bool may_leave_out = is_kernel ? settings().work == Work::kNoKernels : instead != nullptr;
    if (may_leave_out && settings().leaves_out(name)) action = is_kernel ? Action([] {}) : instead;
    const auto operation = append(stream, std::move(action));
    if (observer != nullptr && !name.empty() && noted_.size() < kMostNoted)
      noted_.push_back({operation->place, is_kernel, bytes, name});
    return;
  }
  stream.capture->work.emplace_back(type, std::move(action));
  ++stream.captured;
}

void StreamScheduler::record(CUstream_st& stream, CUevent_st& event) {
  const std::lock_guard lock(mutex_);
  event.capture = stream.capture;
  event.captured_in = stream.number;
  event.captured = stream.captured;
  if (stream.capture) return;
  const auto time = std::make_shared<std::chrono::steady_clock::time_point>();
  event.time = time;
  event.record = append(stream, [time] { *time = std::chrono::steady_clock::now(); });
}

template <typename Chosen>
cudaError_t StreamScheduler::break_captures(Chosen chosen, cudaError_t error, const char* what) {
  bool any = false;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& stream : streams_) {
      if (!stream->capture || !chosen(*stream)) continue;
      any = true;
      is_first = is_first || !stream->capture->broken;
      stream->capture->broken = true;
    }
  }
  if (!any) return cudaSuccess;
  return is_first ? refuse(error, what, FaultKind::kCaptured) : error;
}

cudaError_t StreamScheduler::wait_event(CUstream_st& stream, const CUevent_st& event) {
  const std::lock_guard lock(mutex_);
  if (event.capture) {
    // Waiting for a captured event draws the stream into that capture.
    if (!stream.capture) stream.captured = stream.joined = 0;
    stream.capture = event.capture;
    for (const auto& other : streams_)
      if (other->number == event.captured_in)
        other->joined = std::max(other->joined, event.captured);
  } else if (event.record && stream.capture) {
    return break_captures([&](const CUstream_st& each) { return each.capture == stream.capture; },
                          cudaErrorStreamCaptureIsolation,
                          "a captured stream waits for an event of a stream that is not captured");
  } else if (event.record) {
    stream.waits.push_back(event.record);
  }
  return cudaSuccess;
}

void StreamScheduler::wait_for(const std::shared_ptr<Operation>& operation) {
  if (!operation) return;
  run(operation);
  know(operation);
}

void StreamScheduler::finish(CUstream_st& stream) {
  const std::lock_guard lock(mutex_);
  // New work in the legacy stream waits for all blocking streams, so this finishes them, too.
  if (&stream == streams_[0].get()) append(stream, [] {});
  wait_for(stream.last);
  for (const auto& event : std::exchange(stream.waits, {})) run(event);
}

/// The host has waited for it.
void StreamScheduler::know(const std::shared_ptr<Operation>& operation) {
  if (observer == nullptr) return;
  join(known_, operation->place, &RunningWork::before);
  join(known_here, operation->place, &RunningWork::surely_before);
}

void StreamScheduler::finish(const CUevent_st& event) {
  const std::lock_guard lock(mutex_);
  wait_for(event.record);
}

void StreamScheduler::finish_all() {
  const std::lock_guard lock(mutex_);
  std::vector<CUstream_st*> order;
  for (const auto& stream : streams_) order.push_back(stream.get());
  if (settings().reverses) std::ranges::reverse(order);
  for (const auto& operation : std::exchange(left_, {})) wait_for(operation);
  for (CUstream_st* stream : order) wait_for(stream->last);
}

bool StreamScheduler::poll(const std::shared_ptr<Operation>& operation) {
  const std::lock_guard lock(mutex_);
  if (!operation) return true;
  // A program that asks once and ignores the answer has not waited.
  if (!operation->done && std::exchange(operation->asked, true)) run(operation);
  if (operation->done) know(operation);
  return operation->done;
}

bool StreamScheduler::pending() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(left_, [](const auto& operation) { return !operation->done; }) ||
         std::ranges::any_of(streams_, [](const auto& stream) {
           return stream->last != nullptr && !stream->last->done;
         });
}

bool StreamScheduler::meets_capture(const CUstream_st& stream) const {
  const std::lock_guard lock(mutex_);
  return &stream == streams_[0].get() && std::ranges::any_of(streams_, [](const auto& each) {
    return each->capture && each->blocking;
  });
}

cudaError_t StreamScheduler::allow_work(CUstream_st& stream) {
  if (stream.capture)
    return stream.capture->broken ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
  if (!meets_capture(stream)) return cudaSuccess;
  return break_captures([](const CUstream_st& each) { return each.blocking; },
                        cudaErrorStreamCaptureImplicit,
                        "work in the default stream while another stream is captured");
}

cudaError_t StreamScheduler::allow_wait(CUstream_st& stream) {
  if (!stream.capture) return allow_unsafe();
  return break_captures([&](const CUstream_st& each) { return each.capture == stream.capture; },
                        cudaErrorStreamCaptureUnsupported, "a wait for a stream that is captured");
}

cudaError_t StreamScheduler::allow_wait(const CUevent_st& event) {
  if (!event.capture) return allow_unsafe();
  const cudaError_t error =
      break_captures([&](const CUstream_st& each) { return each.capture == event.capture; },
                     cudaErrorCapturedEvent, "a wait for an event that is captured");
  return error == cudaSuccess ? cudaErrorCapturedEvent : error;
}

cudaError_t StreamScheduler::allow_wait() {
  return break_captures([](const CUstream_st&) { return true; }, cudaErrorStreamCaptureUnsupported,
                        "a wait for the device while a stream is captured");
}

cudaError_t StreamScheduler::allow_unsafe() {
  return break_captures([](const CUstream_st& each) { return !each.capture->relaxed; },
                        cudaErrorStreamCaptureUnsupported,
                        "an allocation, a release or a wait while a stream is captured");
}

cudaError_t StreamScheduler::begin_capture(CUstream_st& stream, bool relaxed) {
  const std::lock_guard lock(mutex_);
  if (&stream == streams_[0].get()) return cudaErrorStreamCaptureUnsupported;
  if (stream.capture) return cudaErrorIllegalState;
  stream.capture = std::make_shared<Capture>();
  stream.capture->relaxed = relaxed;
  stream.capture_origin = true;
  stream.captured = stream.joined = 0;
  return cudaSuccess;
}

cudaError_t StreamScheduler::end_capture(CUstream_st& stream, std::shared_ptr<Capture>& capture) {
  const std::lock_guard lock(mutex_);
  if (!stream.capture) return cudaErrorIllegalState;
  if (!stream.capture_origin) return cudaErrorStreamCaptureUnmatched;
  capture = stream.capture;
  bool unjoined = false;
  for (const auto& other : streams_) {
    if (other->capture != capture) continue;
    unjoined = unjoined || (other.get() != &stream && other->captured > other->joined);
    other->capture = nullptr;
  }
  stream.capture_origin = false;
  if (capture->broken) return cudaErrorStreamCaptureInvalidated;
  return unjoined ? cudaErrorStreamCaptureUnjoined : cudaSuccess;
}

}  // namespace convlab::emulation
