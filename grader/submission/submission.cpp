#include "grader/submission/submission.hpp"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <random>

#include "common/base/buffer.hpp"
#include "common/base/error.hpp"
#include "common/base/printable.hpp"
#include "common/data/dataset.hpp"
#include "common/device/gpu_driver.hpp"
#include "grader/submission/build_submission.hpp"
#include "grader/submission/crash_line.hpp"

namespace convlab::grader {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStartLimit{20'000};

std::uint64_t fresh_token() {
  static std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

// The device that the builder stored. Of the workbook's own programs the first milestone's has
// none, and the others emulate where no GPU answers.
ProgramKind kind_of(const std::filesystem::path& program) {
  const std::filesystem::path file = program.parent_path() / kDeviceFile;
  const bool is_own = !std::filesystem::exists(file);
  std::string device = program.filename().string().starts_with("m1") ? "cpu"
                       : answering_gpu()                             ? "gpu"
                                                                     : "emulated";
  std::ifstream(file) >> device;
  return {device == to_string(Device::kCpu)        ? SandboxKind::kCpu
          : device == to_string(Device::kEmulated) ? SandboxKind::kEmulated
                                                   : SandboxKind::kGpu,
          is_own};
}

// "I have a GPU" would let a program report its own times; "I have none" would need no kernels.
bool may_run_on(const ProgramKind& kind, Device device) {
  if (kind.sandbox == SandboxKind::kCpu) return device == Device::kCpu;
  if (kind.sandbox == SandboxKind::kEmulated && !kind.is_workbooks_own) {
    return device == Device::kEmulated;
  }
  return device != Device::kCpu;
}

Failure failure_of(const Ending& ending, milliseconds limit) {
  using enum Failure::Kind;
  // In the order of Ending::Kind.
  constexpr Failure::Kind kKinds[] = {kExit, kCrash, kTimeout, kFlood, kMemory, kNoStart};
  return {.kind = kKinds[static_cast<std::size_t>(ending.kind)],
          .code = ending.code,
          .limit_s = std::chrono::duration<double>(limit).count()};
}

std::optional<Failure> failure_of(const ServeReply& reply) {
  using enum Failure::Kind;
  // In the order of ServeStatus.
  constexpr std::optional<Failure::Kind> kKinds[] = {std::nullopt, kNotImplemented, kException,
                                                     kCrash,       kRefused,        kProtocol};
  const auto kind = kKinds[static_cast<std::size_t>(reply.status)];
  if (!kind) return std::nullopt;
  const bool may_say_where = kind == kException || kind == kCrash;
  return Failure{.kind = *kind,
                 .message = reply.message,
                 .file = reply.file,
                 .fault = may_say_where ? reply.fault : std::nullopt};
}

// Receives the steps that a reply announces; false if the program sends something else.
bool receive_steps(ChildProcess& process, milliseconds limit, ServeReply& reply) {
  if (reply.steps_bytes == 0) return true;
  if (reply.steps_bytes < 0 || reply.steps_bytes > kMostStepBytes) return false;
  std::string text;
  while (text.size() < static_cast<std::size_t>(reply.steps_bytes)) {
    const auto part = process.receive(limit);
    const auto* message = std::get_if<Message>(&part);
    if (message == nullptr || message->text.empty()) return false;
    text += message->text;
  }
  auto steps = decode<StepNotes>(text);
  if (steps) reply.steps = std::move(*steps);
  return steps.has_value();
}

// After a parallel region OpenMP's threads wait actively for some milliseconds, on processors that
// the submission needs now.
void end_idle_threads() {
  omp_pause_resource_all(omp_pause_soft);
}

using Clock = std::chrono::steady_clock;

template <class Time>
double milliseconds_of(Time time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

void refuse_silent_emulation(const SubmissionDevice& device) {
  if (device.no_gpu.empty() || !answering_gpu()) return;
  throw EnvironmentError(
      "This machine has a GPU, but it does not answer the isolated program, which says: " +
      device.no_gpu +
      " So nothing was checked. build/bin/grader doctor shows what isolates it; "
      "CONVLAB_ISOLATION_WITHOUT=calls (or namespaces) disables a mechanism; with "
      "CUDA_VISIBLE_DEVICES=-1 the check emulates a GPU.");
}

std::optional<Failure> Submission::list_stages(std::vector<StageInfo>& stages) {
  ServeReply reply;
  if (auto failure = ask({.token = fresh_token()}, kStartLimit, reply)) return failure;
  stages = std::move(reply.stages);
  return std::nullopt;
}

Arrays Submission::prepare(const ConvShape& shape, Placement placement) {
  validate(shape);
  shape_ = shape;
  const auto place = [&] {
    using enum SharedSegment::Access;
    if (input_.place(shape.input_size(), kReadOnly, placement)) known_segments_ = 0;
    if (weights_.place(shape.weights_size(), kReadOnly, placement)) known_segments_ = 0;
    if (output_.place(shape.output_size(), kWritable, placement)) known_segments_ = 0;
  };
  try {
    place();
  } catch (const EnvironmentError&) {
    if (!process_) throw;
    restart();  // it may be the process that took the memory
    place();
  }
  return {input_.begin(), weights_.begin(), output_.begin()};
}

std::vector<std::string> Submission::variables() const {
  std::vector<std::string> all = lasting_environment_;
  all.insert(all.end(), environment_.begin(), environment_.end());
  return all;
}

// All else travels with each request: in the environment a file could read or change it. The mend's
// choice stands in a program that holds nothing but changes of the file.
static bool is_of_environment(const std::string& variable) {
  return variable.starts_with("OMP_") || variable.starts_with("CONVLAB_MEND=");
}

std::vector<std::string> Submission::environment_of_process() const {
  std::vector<std::string> all = variables();
  std::erase_if(all, std::not_fn(is_of_environment));
  return all;
}

bool Submission::is_traced() const {
  return std::ranges::any_of(
      variables(), [](const std::string& each) { return each.starts_with("CONVLAB_EMU_TRACE="); });
}

// How much slower a program is that is traced.
static constexpr int kTraced = 10;

// Than the machine for which the limits were chosen, and than a program that is not traced.
double Submission::slower() const {
  return slowness() * settings_.patience * (is_traced() ? kTraced : 1);
}

milliseconds Submission::time_limit() const {
  // Who names a limit wants no more patience.
  if (fixed_limit_) return *fixed_limit_ * (is_traced() ? kTraced : 1);
  // Plain loops do about a million multiply-adds in a millisecond, an emulated kernel far fewer.
  constexpr std::int64_t kSlowestPerMillisecond = 5'000;
  // Who copies, launches and copies for each image needs 2 ms for it where that is emulated.
  constexpr std::int64_t kForImage = 4;
  const std::int64_t least =
      device_.device == Device::kCpu ? 15'000 : 20'000 + kForImage * shape_.batch;
  const auto usual = static_cast<double>(least + shape_.multiply_adds() / kSlowestPerMillisecond);
  return milliseconds(std::llround(usual * slower() * pace_));
}

// What has ended at its pace has that time once more, and half of it.
void Submission::note_pace(double round_trip_ms) {
  constexpr double kMargin = 2.5;
  constexpr double kSlowest = 4.0;
  if (fixed_limit_ || is_traced()) return;
  const double share = pace_ * round_trip_ms / milliseconds_of(time_limit());
  pace_ = std::clamp(kMargin * share, pace_, kSlowest);
}

// At most a third of the limit of the whole call, so that the program can report where it was, even
// on a machine on which it gets a third of the processor.
double Submission::kernel_limit_s() const {
  const double part = device_.device == Device::kCpu ? 0.3 : 0.6;
  const double call_s = std::chrono::duration<double>(time_limit()).count();
  if (fixed_limit_) return part * call_s;
  const double least = device_.device == Device::kCpu ? 2.0 : 4.0;
  constexpr double kPerSecond = 4e6;  // multiply-adds, of the slowest emulated kernel
  const auto work = static_cast<double>(shape_.multiply_adds() + shape_.output_size());
  return std::min(part * call_s, (least + work / kPerSecond) * slower() * pace_);
}

Call Submission::run(const std::string& stage, std::optional<std::uint32_t> content) {
  output_.fill(content);
  // Emptying the cache and what follows epilog, as freeing the stage's memory, is not the stage's.
  // On an H200 the latter took 20 ms, and ten times as long beside eleven other checks; the former
  // waits for whoever else uses the GPU.
  const bool is_told = device_.device == Device::kGpu;
  constexpr int kPauses = 3;  // behind prolog, before convolve, behind epilog
  Clock::time_point start = Clock::now();
  double own_ms = 0.0;
  int pauses = 0;
  Call result = call({.stage = stage, .tells_phases = is_told}, is_told ? kPauses : 0,
                     [&](const ServeReply& /*paused*/) {
                       const Clock::time_point now = Clock::now();
                       if (++pauses != 2) own_ms += milliseconds_of(now - start);
                       start = now;
                       return std::string();
                     });
  result.own_ms = pauses == kPauses ? own_ms : result.round_trip_ms;
  return result;
}

Call Submission::run_ranked(const std::string& stage, const RankedRun& plan) {
  output_.fill(oracle::kPoisonBits);
  return call(
      {.stage = stage, .warm_ups = plan.warm_ups, .samples = plan.calls, .most_ms = plan.most_ms},
      0, {});
}

Call Submission::run_timed(const std::string& stage, const std::function<void()>& exchange,
                           std::optional<std::uint32_t> content) {
  const auto since = [](Clock::time_point start) { return milliseconds_of(Clock::now() - start); };
  // The phases in which it pauses depend on the device.
  if (std::vector<StageInfo> stages; !knows_device_) {
    if (auto failure = list_stages(stages)) return {{}, std::move(failure)};
  }
  const bool on_cpu = device_.device == Device::kCpu;
  Clock::time_point start;
  double empty_ms = 0.0;
  double convolve_ms = 0.0;
  int copies = 0;
  int pause = 0;
  bool still = true;
  std::chrono::nanoseconds used{0};
  output_.fill(content);
  // Both requests begin in the same way: all threads stand still.
  const auto begin = [&](Step step, const std::function<void()>& meanwhile) {
    still = process_->freeze() && still;
    meanwhile();
    still = process_->stands_still() && still;
    end_idle_threads();
    used = threads().computed;
    start = Clock::now();
    process_->thaw();
    return to_string(step);
  };
  Call result =
      call({.stage = stage, .steps = true}, on_cpu ? 2 : 4, [&](const ServeReply& paused) {
        switch (pause++) {
          case 0:
            copies = paused.kernels.copies;
            return begin(Step::kEmptyCall, [] {});
          case 1:
            empty_ms = since(start);
            return begin(on_cpu ? Step::kConvolve : Step::kNewInput, exchange);
          case 2:
            start = Clock::now();
            return to_string(Step::kConvolve);
          default:
            convolve_ms = since(start);
            return to_string(Step::kConvolve);
        }
      });
  if (on_cpu) {
    convolve_ms = since(start);
    const ThreadUse use = threads();
    result.processor_ms = milliseconds_of(use.computed - used);
    result.threads = static_cast<int>(use.states.size());
  }
  // A program must not gain by answering slowly on purpose.
  constexpr double kMostOnCpu = 1.0;
  constexpr double kMostOnDevice = 5.0;
  empty_ms = std::min(empty_ms, on_cpu ? kMostOnCpu : kMostOnDevice);
  least_empty_ms_ = least_empty_ms_ == 0.0 ? empty_ms : std::min(least_empty_ms_, empty_ms);
  result.own_ms = std::max(0.0, convolve_ms - least_empty_ms_);
  result.copies = copies;
  if (!still) fail_for_working_on(result);
  return result;
}

Call Submission::run_phases(const std::string& stage, const std::function<void()>& pause) {
  output_.fill(oracle::kPoisonBits);
  return call({.stage = stage, .pauses = true}, 3, [&](const ServeReply& /*paused*/) {
    pause();
    return to_string(Step::kNewInput);
  });
}

Call Submission::call(ServeRequest request, int pauses, const OnPause& on_pause) {
  request.token = fresh_token();
  request.shape = shape_;
  request.input_offset = input_.offset;
  request.weights_offset = weights_.offset;
  request.output_offset = output_.offset;
  request.kernel_limit_s = kernel_limit_s();
  request.withheld = withheld();
  if (!settings_.repeats_tokens) token_key_ = fresh_token();
  request.token_key = token_key_;
  request.calls = settings_.convolve_calls;
  const Clock::time_point start = Clock::now();
  Call call;
  call.failure = ask(request, time_limit(), call, pauses, on_pause);
  if (call.failure && call.failure->fault) {
    call.failure->told = message_of(*call.failure->fault, shape_, sources_);
  }
  call.round_trip_ms = milliseconds_of(Clock::now() - start);
  if (!call.failure) note_pace(call.round_trip_ms);
  if (settings_.watches && process_ && !process_->freeze()) fail_for_working_on(call);
  // On a busy machine a thread may come to its end before it is stopped.
  if (settings_.watches && !call.failure &&
      call.mark != mark_of(output_.begin(), shape_.output_size())) {
    fail_for_working_on(call, Failure::Kind::kWritesOn);
  }
  if (call.race) find_line(*call.race, program_);
  call.wrote_outside = !output_.surroundings_intact();
  return call;
}

bool Submission::ends_alone() {
  if (!process_) return false;
  process_->thaw();
  constexpr milliseconds kLate{500};
  const auto answer = process_->receive(kLate);
  restart();
  const auto* const ending = std::get_if<Ending>(&answer);
  return ending == nullptr || ending->kind != Ending::Kind::kTimeout;
}

// A failure if there is no such program.
std::optional<Failure> Submission::start() {
  if (process_) return std::nullopt;
  if (::access(program_.c_str(), X_OK) != 0) {
    return Failure{.kind = Failure::Kind::kNoStart, .code = errno};
  }
  kind_ = kind_of(program_);
  process_ = std::make_unique<ChildProcess>(
      program_, std::vector<std::string>{"--serve", std::to_string(kServeDescriptor)},
      ChildProcess::Options{.policy = {.kind = kind_.sandbox, .secret = workbook_folder()},
                            .environment = environment_of_process()});
  known_segments_ = 0;
  return std::nullopt;
}

void Submission::send(const ServeRequest& request) {
  std::vector<int> descriptors;
  const bool withholds = request.withheld != Withheld::kNothing;
  if (const int needed = withholds ? 1 : 3; !request.stage.empty() && known_segments_ != needed) {
    descriptors = {input_.segment.descriptor(), weights_.segment.descriptor(),
                   output_.segment.descriptor()};
    if (withholds) descriptors.erase(descriptors.begin(), descriptors.begin() + 2);
    known_segments_ = needed;
  }
  // Settings come with each request, because a constructor could change stored ones in memory.
  ServeRequest whole = request;
  whole.settings.push_back(kGpuMemorySetting + settings_.gpu_memory);
  for (const std::string& each : variables()) {
    if (!is_of_environment(each)) whole.settings.push_back(each);
  }
  end_idle_threads();
  // If the process has ended, receive() reports how.
  send_message(process_->channel(), encode(whole), descriptors);
  if (!withholds) return;
  send_input();
  send_numbers(process_->channel(), weights_.begin(), shape_.weights_size());
}

void Submission::send_input() const {
  send_numbers(process_->channel(), input_.begin(), shape_.input_size());
}

std::optional<Failure> Submission::ask(const ServeRequest& request, milliseconds limit,
                                       ServeReply& reply, int pauses, const OnPause& on_pause) {
  if (auto failure = start()) return failure;
  const bool stood_still = !settings_.watches || process_->stands_still();
  if (settings_.watches) process_->thaw();
  send(request);
  auto answer = process_->receive(limit);
  // Accepts a pause only if this request asked for it.
  int paused_times = 0;
  for (; paused_times < pauses; ++paused_times) {
    const auto* message = std::get_if<Message>(&answer);
    const auto paused = message == nullptr ? std::nullopt : decode<ServeReply>(message->text);
    if (!paused || paused->status != ServeStatus::kPaused || paused->token != request.token) break;
    const std::string step = on_pause(*paused);
    send_message(process_->channel(), step);
    const bool withholds = request.withheld != Withheld::kNothing;
    if (withholds && step == to_string(Step::kNewInput)) send_input();
    answer = process_->receive(limit);
  }
  isolation_ = process_->isolation();

  const auto* message = std::get_if<Message>(&answer);
  auto decoded = message == nullptr ? std::nullopt : decode<ServeReply>(message->text);
  // A message about a crash does not tell the device. A leftover thread may crash between two
  // requests; then it has the token of the first.
  const bool is_whole = decoded &&
                        (decoded->status == ServeStatus::kCrash ||
                         (decoded->token == request.token && may_run_on(kind_, decoded->device))) &&
                        (decoded->status != ServeStatus::kDone ||
                         paused_times >= (request.steps    ? pauses
                                          : request.pauses ? std::min(pauses, 2)
                                                           : 0)) &&
                        receive_steps(*process_, limit, *decoded);
  std::optional<Failure> failure;
  if (message == nullptr) {
    failure = failure_of(std::get<Ending>(answer), limit);
  } else if (!is_whole) {
    failure = Failure{.kind = Failure::Kind::kProtocol};
  } else if (!process_->keeps_environment()) {
    failure = Failure{.kind = Failure::Kind::kSettings};
  } else if (!stood_still) {
    failure = Failure{.kind = Failure::Kind::kWorksOn};
  } else {
    reply = std::move(*decoded);
    failure = take(reply);
    // The leftovers of an exception, above all on a GPU, must not spoil the next call.
    if (!failure || failure->kind == Failure::Kind::kNotImplemented) return failure;
  }
  process_->stop();
  failure->printed = process_->output_tail();
  process_.reset();
  return failure;
}

// What a whole reply says of the device and of the call.
std::optional<Failure> Submission::take(ServeReply& reply) {
  if (reply.status == ServeStatus::kCrash) reply.device = device_.device;
  // Otherwise an emulation's verdict would look like a GPU's.
  if (reply.device == Device::kEmulated &&
      (device_.device == Device::kGpu ||
       (kind_.sandbox == SandboxKind::kGpu && !kind_.is_workbooks_own))) {
    // The driver is asked, because the submission can say what it likes.
    if (answering_gpu()) return Failure{.kind = Failure::Kind::kProtocol};
    throw EnvironmentError("The GPU stopped answering in the middle of the check: " + reply.no_gpu +
                           " Run the check again; nvidia-smi shows its state.");
  }
  device_.device = reply.device;
  device_.no_gpu = reply.no_gpu;
  knows_device_ = true;
  if (reply.measured) device_.measured = *reply.measured;
  auto failure = failure_of(reply);
  if (failure && failure->kind == Failure::Kind::kCrash) {
    const auto end = process_->receive(milliseconds(2000));
    if (const auto* ended = std::get_if<Ending>(&end)) failure->code = ended->code;
    if (failure->fault) find_line(*failure->fault, program_);
  }
  return failure;
}

}  // namespace convlab::grader
