#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/device_notes.hpp"
#include "common/base/enum_name.hpp"
#include "common/base/error.hpp"
#include "common/device/device_session.hpp"
#include "common/result/result.hpp"
#include "common/stage/run_stage.hpp"

namespace convlab {

// The grader and a submission are two processes. The grader starts `m1 --serve` with a
// SOCK_SEQPACKET socket on kServeDescriptor, requests one convolution after another, and judges the
// raw outputs itself: it owns labels, seeds, expected values and the result file. The submission
// sees inputs and returns outputs; the grader ignores what it prints.

/// Runs for the hidden option --serve of a milestone's program: answers requests until the other
/// side closes the channel. Prints nothing.
/// @param device  where the stages run; null for the CPU
/// @param no_gpu  why this emulated program replaced one for a GPU; otherwise empty
/// @return the exit code of the process
ExitCode serve(int channel_descriptor, DeviceSession* device = nullptr,
               const std::string& no_gpu = {});

/// Which arrays hold tokens instead of numbers (DeviceSession::withhold).
enum class Withheld { kNothing, kInput, kWeights, kBoth };

inline const char* to_string(Withheld withheld) {
  return enum_name(withheld, {"nothing", "input", "weights", "both"});
}

/// Asks for one convolution, or (without a stage) for the list of stages.
///
/// Three shared memory segments travel with the first request, and again whenever one was
/// replaced: input and weights, which the submission cannot write, and output. An array starts
/// `…_offset` bytes into its segment. Of a convolution with withheld numbers only the output's
/// travels: the numbers follow the request over the channel, first input, then weights, and the
/// input's follow each Step::kNewInput. So no memory that the stage could map ever holds them.
struct ServeRequest {
  std::uint64_t token = 0;  ///< the answer must repeat it
  std::string stage{};
  ConvShape shape{};
  std::uint64_t input_offset = 0;
  std::uint64_t weights_offset = 0;
  std::uint64_t output_offset = 0;
  double kernel_limit_s = 0.0;  ///< a kernel that takes longer is ended, if that is possible
  bool pauses = false;          ///< between the phases it answers kPaused and waits for any message
  bool steps = false;           ///< the same, and each message is the name of a Step
  bool tells_phases = false;    ///< it pauses where RunPlan::tell says
  int calls = 1;                ///< of convolve between prolog and epilog, on an emulated device
  int warm_ups = 0;             ///< further calls on a GPU, as RunPlan has them
  int samples = 1;
  double most_ms = 0.0;
  Withheld withheld = Withheld::kNothing;  ///< anything else: the numbers follow, see send_numbers
  std::uint64_t token_key = 0;  ///< of what is withheld; the same one draws the same tokens
  /// Of the device, instead of the environment's: see DeviceSession::choose_settings.
  std::vector<std::string> settings{};
};

enum class ServeStatus {
  kDone,
  kNotImplemented,  ///< still as handed out
  kException,       ///< the stage threw; `fault` says what
  kCrash,           ///< a signal arrived; `fault` says where; sent by the signal handler
  kRefused,         ///< the request is invalid
  kPaused,          ///< between two phases
};

inline const char* to_string(ServeStatus status) {
  return enum_name(status, {"done", "not-implemented", "exception", "crash", "refused", "paused"});
}

struct ServeReply {
  std::uint64_t token = 0;
  ServeStatus status = ServeStatus::kDone;
  std::string message{};               ///< of kNotImplemented and kRefused
  std::string file{};                  ///< of kNotImplemented: what is still as handed out
  std::optional<FaultRecord> fault{};  ///< of kException and kCrash
  std::optional<FaultRecord> race{};   ///< of a program that looks for races, also if it failed
  double op_ms = 0.0;
  double layer_ms = 0.0;
  PhaseKernels
      kernels{};        ///< of a request with pauses; of kPaused in steps: copies, as run_in_steps
  DeviceNotes notes{};  ///< of a run on a device
  AccessNotes accesses{};  ///< of a program that counts them
  /// How long the text of the recorded steps is, which follows in messages of its own.
  std::int64_t steps_bytes = 0;
  StepNotes steps{};  ///< not in the message
  std::vector<StageInfo> stages{};
  Device device = Device::kCpu;  ///< an emulated one has no times: op_ms and layer_ms are 0
  std::string no_gpu{};          ///< why a program for a GPU emulates; otherwise empty
  OpSample sample{};             ///< what op_ms was made of
  std::uint64_t mark = 0;        ///< mark_of the output when the stage had returned
  std::optional<MeasuredDevice> measured{};  ///< with the list of stages, if they run on a device
};

inline const char* to_string(Step step) {
  return enum_name(step, {"empty-call", "new-input", "convolve"});
}

/// Sends a text in messages of its own. @return false if the other side is gone
bool send_bytes(int socket, std::string_view bytes);

/// Sends an array in messages of its own, and calls `take` with the parts of one that arrives.
/// @return false if the other side is gone, or sent something else
bool send_numbers(int socket, const float* numbers, std::int64_t count);
bool receive_numbers(int socket, std::int64_t count,
                     const std::function<void(const float* numbers, std::int64_t count)>& take);

/// A number that is another one if an array changes, for example while all threads should be
/// done. Of a large array it looks at some numbers only.
std::uint64_t mark_of(const float* numbers, std::int64_t count);

/// The longest text of steps.
inline constexpr std::int64_t kMostStepBytes = 8 << 20;

/// The text of a message: a ServeRequest, a ServeReply or StepNotes.
template <class Message>
std::string encode(const Message& message);
template <>
std::string encode(const ServeReply& reply);

/// Empty if the text is not such a message.
template <class Message>
std::optional<Message> decode(const std::string& text);

}  // namespace convlab
