#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/result/result.hpp"
#include "common/serve/channel.hpp"
#include "common/serve/fault_messages.hpp"
#include "common/serve/serve.hpp"
#include "grader/submission/sandbox/child_process.hpp"
#include "grader/submission/shared_array.hpp"
#include "reference/oracle/comparison.hpp"

namespace convlab::grader {

/// A file beside a program that was built from a custom submission: "cpu", "emulated" or "gpu".
inline constexpr const char* kDeviceFile = "device";

/// Why a submission gave no output.
struct Failure {
  enum class Kind {
    kNotImplemented,
    kException,  ///< `fault` says which
    kCrash,      ///< a signal; `fault` may say where
    kExit,       ///< it ended without an answer
    kTimeout,
    kFlood,     ///< it printed too much
    kMemory,    ///< it took nearly all memory of the machine
    kNoStart,   ///< there is no such program, or it cannot run
    kProtocol,  ///< its answer is invalid
    kSettings,  ///< it changed its environment
    kWorksOn,   ///< its threads go on although it is stopped
    kWritesOn,  ///< its output has changed since the stage returned
    kRefused,   ///< it could not map the memory
  };
  Kind kind = Kind::kException;
  int code = 0;                        ///< signal or exit code
  double limit_s = 0.0;                ///< of a timeout
  std::string message{};               ///< of kNotImplemented and kRefused
  std::string file{};                  ///< of kNotImplemented
  std::optional<FaultRecord> fault{};  ///< what the program's signal handler reported
  Finding told{};                      ///< the same for a person, without an id if nothing is known
  std::string printed{};               ///< the end of what the program printed
};

/// The three arrays of one convolution, as the grader sees them.
struct Arrays {
  float* input = nullptr;
  float* weights = nullptr;
  float* output = nullptr;
};

/// One call of a stage: what the program replied, and what the grader saw of it.
struct Call : ServeReply {
  std::optional<Failure> failure{};
  /// On the grader's clock; of run_timed convolve, minus an empty request, of run all phases.
  double own_ms = 0.0;
  double processor_ms = 0.0;   ///< on the CPU: of all threads during the call
  int threads = 0;             ///< on the CPU: their number
  double round_trip_ms = 0.0;  ///< of all phases, on the grader's clock
  int copies = 0;              ///< of run_timed: see run_in_steps
  bool wrote_outside = false;  ///< the memory next to the output has changed
};

/// Where a submission's stages run, as it reports.
struct SubmissionDevice {
  Device device = Device::kCpu;
  MeasuredDevice measured{};  ///< known after the list of stages
  std::string no_gpu{};       ///< why a program for a GPU emulates; otherwise empty
};

/// @throws EnvironmentError if the program emulates although a GPU answers outside the isolation:
/// a verdict from emulation must not look like one from a GPU
void refuse_silent_emulation(const SubmissionDevice& device);

/// What a program is, as its builder stored it.
struct ProgramKind {
  SandboxKind sandbox = SandboxKind::kCpu;
  bool is_workbooks_own = false;  ///< only these emulate where no GPU answers
};

/// A milestone's program under test: started at the first request, and again after it ended.
class Submission {
 public:
  /// @param time_limit  of one convolution; none: from its size
  /// @param variables   for its processes, "CONVLAB_EMU_READS=forgiven"; all have them
  explicit Submission(std::filesystem::path program,
                      std::optional<std::chrono::milliseconds> time_limit = {},
                      std::vector<std::string> variables = {})
      : program_(std::move(program)),
        fixed_limit_(time_limit),
        lasting_environment_(std::move(variables)) {}

  /// Fills `stages` and sets the device. A failure if the program does not answer.
  std::optional<Failure> list_stages(std::vector<StageInfo>& stages);

  /// Makes room for the arrays of this shape. Their old content is lost.
  /// @throws EnvironmentError that says how much memory is needed
  Arrays prepare(const ConvShape& shape, Placement placement);

  /// Fills the output with `content` (by default poison; none: it keeps what the last call wrote)
  /// and the memory next to it with poison, and lets the stage write the output.
  Call run(const std::string& stage, std::optional<std::uint32_t> content = oracle::kPoisonBits);

  /// The same, timed as the course ranks files: op_ms is the median of the measured calls. A
  /// program that lies about it fools nobody but its author: no workbook points come from it.
  Call run_ranked(const std::string& stage, const RankedRun& plan);

  /// The same on the grader's clock. After prolog everything in the sandbox is stopped, and
  /// `exchange` puts other numbers into the input array and its copies in the device's memory. So
  /// the work of prolog belongs to another input, whatever times the program reports.
  Call run_timed(const std::string& stage, const std::function<void()>& exchange,
                 std::optional<std::uint32_t> content = oracle::kPoisonBits);

  /// The same with pauses after prolog and after convolve, in which `pause` may change the input;
  /// on a device two before convolve, of which only the first also changes the device's copies.
  Call run_phases(const std::string& stage, const std::function<void()>& pause);

  /// These hold for the calls from now on.
  struct Settings {
    Withheld withheld = Withheld::kBoth;  ///< what an emulated device withholds from the host
    bool repeats_tokens = false;          ///< the tokens of the last call are drawn again
    bool host_may_convert = false;        ///< both input and weights, if kernels compute with them
    int convolve_calls = 1;               ///< how often an emulated device runs convolve in each
    /// Whether the network's input may change between prolog and convolve; not if prolog converts
    /// it.
    bool exchanges = true;
    bool prolog_may_compute = false;  ///< then its time counts as the convolution's
    /// Whether the process is stopped and looked at after each call. That takes most of the time of
    /// a small call, and a program that is known to be wrong needs it not.
    bool watches = true;
    double patience = 1.0;  ///< times the limits
    /// "usual", "poisoned" or "guarded" memory of a GPU (common/device/recorded_allocations.hpp).
    std::string gpu_memory = "usual";
  };
  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// set(&Submission::Settings::watches, false)
  template <class Value>
  void set(Value Settings::*which, const std::type_identity_t<Value>& value) {
    settings_.*which = value;
  }

  /// kNothing on other devices than an emulated one.
  [[nodiscard]] Withheld withheld() const {
    return device_.device == Device::kEmulated ? settings_.withheld : Withheld::kNothing;
  }

  /// After a call the process stays stopped. This lets it continue until the next call.
  void thaw() {
    if (process_) process_->thaw();
  }

  /// Lets it continue without a request, and ends it. @return whether it ended by itself before
  bool ends_alone();

  /// Of one convolution of the arrays that were prepared.
  [[nodiscard]] std::chrono::milliseconds time_limit() const;

  /// As in ChildProcess; if it does not run, it stands still.
  [[nodiscard]] ThreadUse threads() { return process_ ? process_->threads() : ThreadUse{}; }
  [[nodiscard]] bool stands_still() { return !process_ || process_->stands_still(); }

  /// The program's source files; findings quote their lines and names.
  void set_sources(SourceText sources) { sources_ = std::move(sources); }
  [[nodiscard]] const SourceText& sources() const { return sources_; }

  /// Variables for the process, "CONVLAB_EMU_ORDER=reverse"; the next call starts a new one.
  void set_environment(std::vector<std::string> variables) {
    environment_ = std::move(variables);
    restart();
  }

  /// Whether each of its accesses to memory is a call.
  [[nodiscard]] bool is_traced() const;

  [[nodiscard]] const std::filesystem::path& program() const { return program_; }

  /// Known after its first answer, or from another Submission of the same program.
  [[nodiscard]] const SubmissionDevice& device() const { return device_; }
  void set_device(SubmissionDevice device) {
    device_ = std::move(device);
    knows_device_ = true;
  }

  /// Which mechanisms isolate it; known after its first answer.
  [[nodiscard]] const Isolation& isolation() const { return isolation_; }

  /// Ends the process; the next call starts a new one.
  void restart() { process_.reset(); }

  /// The resources that the program has used since it started.
  [[nodiscard]] ProcessUsage usage() const { return process_ ? process_->usage() : ProcessUsage{}; }

 private:
  [[nodiscard]] std::vector<std::string> variables() const;
  [[nodiscard]] std::vector<std::string> environment_of_process() const;
  [[nodiscard]] double slower() const;
  [[nodiscard]] double kernel_limit_s() const;

  /// The grader's answer to a program that has paused.
  using OnPause = std::function<std::string(const ServeReply& paused)>;
  void fail_for_working_on(Call& call, Failure::Kind kind = Failure::Kind::kWorksOn) {
    if (!call.failure) call.failure = Failure{.kind = kind};
    restart();
  }
  std::optional<Failure> start();
  void send(const ServeRequest& request);
  void send_input() const;
  Call call(ServeRequest request, int pauses, const OnPause& on_pause);
  void note_pace(double round_trip_ms);
  std::optional<Failure> ask(const ServeRequest& request, std::chrono::milliseconds limit,
                             ServeReply& reply, int pauses = 0, const OnPause& on_pause = {});
  std::optional<Failure> take(ServeReply& reply);

  Settings settings_;
  std::filesystem::path program_;
  std::optional<std::chrono::milliseconds> fixed_limit_;
  double pace_ = 1.0;  ///< of the usual limit, what its slowest call has needed, and some more
  std::vector<std::string> lasting_environment_;
  ProgramKind kind_;  ///< known when it has started
  SubmissionDevice device_;
  bool knows_device_ = false;
  Isolation isolation_;
  std::vector<std::string> environment_;
  SourceText sources_;
  std::uint64_t token_key_ = 0;
  ConvShape shape_;
  SharedArray input_;
  SharedArray weights_;
  SharedArray output_;
  double least_empty_ms_ = 0.0;  ///< an empty request; 0 before the first
  int known_segments_ = 0;       ///< to the running process: 3, or only the output's
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace convlab::grader
