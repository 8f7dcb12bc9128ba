#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "common/emulation/include/convlab_emulation/launch.hpp"
#include "common/emulation/include/convlab_emulation/runtime_types.hpp"
#include "common/emulation/runtime/api_state.hpp"
#include "common/emulation/runtime/handles.hpp"

namespace convlab::emulation {

/// A piece of work of the device: a kernel, a copy, a call-back.
using Action = std::function<void()>;

/// Takes the work of streams instead of the device, between cudaStreamBeginCapture and
/// cudaStreamEndCapture.
struct Capture {
  std::vector<std::pair<cudaGraphNodeType, Action>> work{};  ///< in the order of submission
  bool relaxed = false;                                      ///< does not mind unsafe calls
  bool broken = false;  ///< by a call that is not allowed meanwhile
};

/// What an observer may know of the order of work: its stream, its number in it, and for each
/// stream the number up to which it is done before.
struct RunningWork {
  int stream = 0;
  int number = 0;
  std::map<int, int> before{};
  /// Of these, what does not rest on a wait of another thread of the host, which may come later.
  std::map<int, int> surely_before{};
};

/// Work of a stream for which an observer may ask what runs at the same time.
struct NotedWork {
  RunningWork place{};
  bool is_kernel = false;
  std::size_t bytes = 0;  ///< of an asynchronous copy from or to pinned memory
  std::string name{};     ///< DeviceNotes::kernels_beside
};

/// A piece of work in a stream, and the work that must be done before it.
struct Operation {
  Action action;
  std::vector<std::shared_ptr<Operation>> before;
  bool done = false;
  bool asked = false;  ///< whether poll() has been asked for it
  RunningWork place;   ///< for an observer
};

}  // namespace convlab::emulation

// The handles of the API point to these.
struct CUstream_st {
  int number = 0;        ///< in the order in which streams were made
  bool blocking = true;  ///< keeps order with the legacy default stream
  int priority = 0;      ///< -5 to 0, the least
  std::shared_ptr<convlab::emulation::Operation> last;
  std::vector<std::shared_ptr<convlab::emulation::Operation>>
      waits;  ///< the stream's next work waits for these
  std::shared_ptr<convlab::emulation::Capture> capture;
  bool capture_origin = false;
  int captured = 0;  ///< pieces of work in this capture
  int joined = 0;    ///< of them, those for which another stream waits
};
struct CUevent_st {
  bool timed = true;
  std::shared_ptr<convlab::emulation::Operation> record;
  std::shared_ptr<std::chrono::steady_clock::time_point> time;  ///< set when the record is done
  std::shared_ptr<convlab::emulation::Capture> capture;         ///< during which it was recorded
  int captured_in = 0;                                          ///< the number of the stream
  int captured = 0;  ///< CUstream_st::captured at that time
};

namespace convlab::emulation {

/// All streams of the device. An eager device (the usual one) does work when it is submitted; a
/// lazy one (CONVLAB_EMU_STREAMS=lazy) when somebody waits for it, so that a program that forgets
/// to wait sees what it might see on a GPU.
class StreamScheduler {
 public:
  StreamScheduler();

  /// The stream of a handle, or null if there is none.
  CUstream_st* resolve(cudaStream_t handle);
  cudaStream_t create(unsigned flags);
  cudaError_t destroy(cudaStream_t stream);

  /// Puts work into a stream, or into the capture that the stream belongs to.
  /// @param bytes    of an asynchronous copy from or to pinned memory
  /// @param instead  of the copy, if it is left out (settings.hpp)
  void submit(CUstream_st& stream, Action action, cudaGraphNodeType type = cudaGraphNodeTypeKernel,
              std::size_t bytes = 0, const Action& instead = nullptr);
  void record(CUstream_st& stream, CUevent_st& event);
  cudaError_t wait_event(CUstream_st& stream, const CUevent_st& event);

  /// Does the pending work of the stream, before the event, or of the whole device.
  void finish(CUstream_st& stream);
  void finish(const CUevent_st& event);
  void finish_all();
  /// Whether the operation is done. An operation that is not is done at the second question.
  bool poll(const std::shared_ptr<Operation>& operation);

  /// The work that is being done; null if there is none.
  [[nodiscard]] const RunningWork* running_work() const { return running_; }

  /// For an observer: of the kernels since the last call, the names of those beside which a copy of
  /// another stream may run that is not much smaller than the largest; and of these copies.
  using Names = std::vector<std::string>;
  std::pair<Names, Names> take_beside();

  /// Whether some stream still has work.
  [[nodiscard]] bool pending() const;

  /// Whether this is the legacy default stream, and a stream is captured that keeps order with it.
  [[nodiscard]] bool meets_capture(const CUstream_st& stream) const;
  /// Whether a stream capture allows the call; an error breaks the capture, as on an H200.
  cudaError_t allow_work(CUstream_st& stream);
  /// Of waiting for the stream, for the event, or for the whole device.
  cudaError_t allow_wait(CUstream_st& stream);
  cudaError_t allow_wait(const CUevent_st& event);
  cudaError_t allow_wait();
  /// Of memory that is allocated, freed or pinned.
  cudaError_t allow_unsafe();
  cudaError_t begin_capture(CUstream_st& stream, bool relaxed);
  /// @param capture  what was captured
  cudaError_t end_capture(CUstream_st& stream, std::shared_ptr<Capture>& capture);

 private:
  /// Breaks the captures of the streams that `chosen` is true for.
  /// @return cudaSuccess if there are none; otherwise `error`, and the first time a report
  template <typename Chosen>
  cudaError_t break_captures(Chosen chosen, cudaError_t error, const char* what);
  std::shared_ptr<Operation> append(CUstream_st& stream, Action action);
  void run(const std::shared_ptr<Operation>& operation);
  /// Runs it, and the host knows; does nothing if there is none.
  void wait_for(const std::shared_ptr<Operation>& operation);
  void know(const std::shared_ptr<Operation>& operation);

  mutable std::recursive_mutex mutex_;
  const RunningWork* running_ = nullptr;
  std::map<int, int> known_;  ///< for an observer: what the host has waited for, by stream
  int operations_ = 0;
  std::vector<NotedWork> noted_;  ///< for an observer
  std::map<int, int> named_;  ///< by stream: kernels and asynchronous copies since take_beside()
  std::vector<std::unique_ptr<CUstream_st>> streams_;  ///< the legacy default stream first
  std::vector<std::shared_ptr<Operation>> left_;       ///< the last work of destroyed streams
};

inline StreamScheduler& streams() {
  return only<StreamScheduler>();
}

/// Begins a call of the API, and calls body(stream) if the device works and the stream exists;
/// otherwise records the error.
template <typename Body>
cudaError_t with_any_stream(const char* function, cudaStream_t handle, Body body) {
  if (const cudaError_t lost = begin_call(function)) return lost;
  CUstream_st* const stream = streams().resolve(handle);
  if (stream == nullptr) return record_error(cudaErrorInvalidResourceHandle);
  return record_error(body(*stream));
}

/// The same, unless a capture forbids work in the stream.
template <typename Body>
cudaError_t with_stream(const char* function, cudaStream_t handle, Body body) {
  return with_any_stream(function, handle, [&](CUstream_st& stream) {
    const cudaError_t refused = streams().allow_work(stream);
    return refused == cudaSuccess ? body(stream) : refused;
  });
}

/// Whether the device does the work of the running operation (Settings::work).
/// @param device  on which the kernel was launched
bool does_kernel(int device, const char* name);
/// While it lives, the work is a graph's.
class GraphLaunch {
 public:
  GraphLaunch();
  GraphLaunch(const GraphLaunch&) = delete;
  GraphLaunch& operator=(const GraphLaunch&) = delete;
  ~GraphLaunch();
};
/// Another call of a stage begins: its first stream is yet to come.
void forget_first_stream();

/// Makes the action that launch_untyped submits.
/// @return cudaSuccess, or the error, which is then the last error, too
cudaError_t plan_untyped(const void* function, void** arguments, const Configuration& configuration,
                         Action& action);

}  // namespace convlab::emulation
