#include "common/serve/serve.hpp"

#include <pthread.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <new>
#include <system_error>

#include "common/base/address_sanitizer.hpp"
#include "common/device/scale_matmul.hpp"
#include "common/serve/channel.hpp"
#include "common/serve/mapped_segment.hpp"
#include "common/stage/stage.hpp"

// Defined by the linker: the beginning of the program and the end of its code.
extern "C" const char __executable_start;  // NOLINT: its name
extern "C" const char etext;               // NOLINT: its name

namespace convlab {

namespace {

[[maybe_unused]] bool is_serving = false;

struct SharedArray {
  const char* name;
  MappedSegment segment{};
  float* begin = nullptr;

  /// False if so many elements do not fit into the segment.
  bool place(std::uint64_t offset, std::int64_t elements) {
    const bool fits =
        offset % alignof(float) == 0 && offset <= segment.size() &&
        static_cast<std::uint64_t>(elements) <= (segment.size() - offset) / sizeof(float);
    if (fits) begin = reinterpret_cast<float*>(segment.data() + offset);
    return fits;
  }
};

/// The data that the signal handler may read.
struct Session {
  int channel = -1;
  DeviceSession* device = nullptr;
  std::uint64_t token = 0;
  ConvShape shape;
  SharedArray input{"input"};
  SharedArray weights{"weights"};
  SharedArray output{"output"};
  std::uintptr_t stack_end = 0;
  clockid_t limit_clock = 0;  ///< processor time of the thread that calls the stage
  double limit_s = 0.0;       ///< of that time for the running request; 0: none
  double limit_from_s = 0.0;  ///< of processor time, when it began
  double wait_from_s = 0.0;   ///< the same moment on the clock
  std::string no_gpu;         ///< as ServeReply has it
};

Session& session() {
  static Session instance;
  return instance;
}

/// The data of a signal, in memory that a handler may use.
struct CrashPlace {
  FaultKind kind = FaultKind::kSignal;
  const char* array = "";
  long long element = 0;
  unsigned long long code = 0;
};

// The input and the weights cannot be written, so that nobody changes what the grader compares
// with. CUDA pins no such pages.
void own_pages_at(const void* memory) {
  for (SharedArray* array : {&session().input, &session().weights}) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    if (array->segment.contains(address)) array->segment.own_pages();
  }
}

CrashPlace place_of(std::uintptr_t address) {
  const Session& s = session();
  for (const SharedArray* array : {&s.input, &s.weights, &s.output}) {
    if (!array->segment.contains(address, MappedSegment::kGuardBytes)) continue;
    const auto distance = static_cast<long long>(address) -
                          static_cast<long long>(reinterpret_cast<std::uintptr_t>(array->begin));
    // Inside the array memory is readable, so the program tried to write there.
    return {array->segment.contains(address) ? FaultKind::kReadOnly : FaultKind::kOutside,
            array->name, distance / static_cast<long long>(sizeof(float))};
  }
  constexpr std::uintptr_t kNullPages = 1 << 16;
  constexpr std::uintptr_t kLargeArray = std::uintptr_t{1} << 26;  // may step over a guard page
  if (address + kLargeArray > s.stack_end && address < s.stack_end + MappedSegment::kGuardBytes) {
    return {FaultKind::kStack};
  }
  return {address < kNullPages ? FaultKind::kNull : FaultKind::kSignal};
}

// Where in the program's file the signal arrived; 0 in a library.
unsigned long long code_of([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  const auto place = static_cast<std::uintptr_t>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  const auto place =
      static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.pc);
#else
  const std::uintptr_t place = 0;
#endif
  const auto begin = reinterpret_cast<std::uintptr_t>(&__executable_start);
  const auto end = reinterpret_cast<std::uintptr_t>(&etext);
  return place >= begin && place < end ? place - begin : 0;
}

// Reports the line of an endless loop. The limit is processor time, for busy machines, and of the
// thread that calls the stage: with many processors, threads that only look out for work use
// seconds of it in a moment. A program that waits for ever ends after three times as long.
class TimeLimit {
 public:
  explicit TimeLimit(double seconds) {
    session().limit_s = seconds;
    ::pthread_getcpuclockid(::pthread_self(), &session().limit_clock);
    session().limit_from_s = seconds_of(session().limit_clock);
    session().wait_from_s = seconds_of(CLOCK_MONOTONIC);
    look_after(seconds);
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit() { look_after(0.0); }

  /// Whether the time is up; otherwise it sets the timer again. Called in a signal handler.
  static bool is_over() {
    const Session& s = session();
    const double left = s.limit_s - (seconds_of(s.limit_clock) - s.limit_from_s);
    const double waited = seconds_of(CLOCK_MONOTONIC) - s.wait_from_s;
    // Neither may a program wait without computing, nor must it suffer from what else runs here.
    const bool idle = s.limit_s - left < kIdle * waited;
    if (left <= 0.0 || (idle && waited >= kLongestWait * s.limit_s)) return true;
    look_after(std::max(left, kShortestLook));
    return false;
  }

 private:
  static constexpr double kLongestWait = 3.0;  // times the limit
  static constexpr double kIdle = 0.005;       // of a processor: less than one of 200 programs gets
  static constexpr double kShortestLook = 0.02;

  static double seconds_of(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    constexpr double kNano = 1e-9;
    return static_cast<double>(now.tv_sec) + kNano * static_cast<double>(now.tv_nsec);
  }

  static void look_after(double seconds) {
    constexpr double kMicro = 1e6;
    const auto whole = static_cast<time_t>(seconds);
    const auto rest = static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * kMicro);
    const itimerval timer{{}, {whole, rest}};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }
};

// Reports to the grader where the program died, then dies of the same signal. snprintf is not
// guaranteed to work in a signal handler. With integers it does in practice; if not, the grader
// still sees the signal.
void on_crash(int signal, siginfo_t* info, void* context) {
  if (signal == SIGALRM && !TimeLimit::is_over()) return;
  CrashPlace place;
  const bool of_memory = signal == SIGSEGV || signal == SIGBUS;
  if (of_memory) place = place_of(reinterpret_cast<std::uintptr_t>(info->si_addr));
  if (signal == SIGSYS) {  // the sandbox of the grader forbids that system call
    place = {FaultKind::kSystemCall, "", info->si_syscall};
  }
  if (signal == SIGALRM) place = {FaultKind::kKernelTime};
  if (signal == SIGFPE) place = {FaultKind::kArithmetic};
  place.code = code_of(context);
  std::array<char, 256> text{};
  const int length = std::snprintf(
      text.data(), text.size(),
      R"({"token":%llu,"status":"crash","fault":{"kind":"%s","array":"%s","element":%lld,"code":%llu}})",
      static_cast<unsigned long long>(session().token), to_string(place.kind), place.array,
      place.element, place.code);
  // The emulated device knows its own memory; its report was made in a handler as well.
  if (const auto fault =
          of_memory && place.kind == FaultKind::kSignal ? take_noted_fault() : std::nullopt) {
    send_message(session().channel,
                 encode(ServeReply{
                     .token = session().token, .status = ServeStatus::kCrash, .fault = fault}));
  } else {
    send_message(session().channel, {text.data(), static_cast<std::size_t>(length)});
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void send_exception(const std::optional<FaultRecord>& fault) {
  ServeReply reply{.token = session().token, .status = ServeStatus::kException, .fault = fault};
  if (session().device != nullptr) reply.device = session().device->info().device;
  send_message(session().channel, encode(reply));
}

// Where the C++ library gives up: an exception that nobody catches in its thread, or a std::thread
// that still runs when its object ends.
[[noreturn]] void tell_why_terminated() {
  FaultRecord fault{FaultKind::kException, kNotJoined};
  try {
    if (std::current_exception()) throw;
  } catch (const std::exception& exception) {
    fault.text = std::string(exception.what()) + " (not caught in its thread)";
  } catch (...) {
    fault.text = "an exception that is not caught in its thread";
  }
  send_exception(fault);
  std::abort();
}

// If a stage ends the program because CUDA reported an error, that error is the cause, not exit().
void tell_why_at_exit() {
  auto fault = take_noted_fault();
  if (session().token == 0 || !fault) return;
  if (fault->kind == FaultKind::kException && fault->call.empty()) fault->call = "a CUDA call";
  send_exception(fault);
}

void install_crash_handler() {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) == 0) {
    void* lowest = nullptr;
    std::size_t size = 0;
    ::pthread_attr_getstack(&attributes, &lowest, &size);
    session().stack_end = reinterpret_cast<std::uintptr_t>(lowest);
    ::pthread_attr_destroy(&attributes);
  }
  std::set_terminate(tell_why_terminated);
  // A separate stack, because a stack overflow is one of the crashes to report.
  constexpr std::size_t kHandlerStack = std::size_t{64} << 10;
  static std::array<std::byte, kHandlerStack> handler_stack;
  const stack_t stack{.ss_sp = handler_stack.data(), .ss_flags = 0, .ss_size = kHandlerStack};
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGALRM})
    ::sigaction(signal, &action, nullptr);
}

/// Withholds numbers while it lives. Tokens in the output become numbers again in the end.
class Withholding {
 public:
  explicit Withholding(const ServeRequest& request) : request_(request) {
    if (device_ == nullptr) return;
    Session& s = session();
    const auto bytes = [](std::int64_t count) {
      return static_cast<std::size_t>(count) * sizeof(float);
    };
    s.input.segment.make(request.input_offset + bytes(request.shape.input_size()));
    s.weights.segment.make(request.weights_offset + bytes(request.shape.weights_size()));
    device_->withhold(request.token_key);
    take_new_input();
    fill(s.weights.segment, request.weights_offset, request.shape.weights_size(),
         request.withheld != Withheld::kInput);
  }
  Withholding(const Withholding&) = delete;
  Withholding& operator=(const Withholding&) = delete;
  ~Withholding() {
    if (device_ != nullptr) device_->stop_withholding();
  }

  void take_new_input() const {
    if (device_ == nullptr) return;
    fill(session().input.segment, request_.input_offset, request_.shape.input_size(),
         request_.withheld != Withheld::kWeights);
  }

  void reveal(float* output) const {
    if (device_ != nullptr) device_->reveal(output, request_.shape.output_size());
  }

 private:
  void fill(MappedSegment& segment, std::uint64_t offset, std::int64_t count,
            bool with_tokens) const {
    segment.allow(MappedSegment::kWrite);
    auto* to = reinterpret_cast<float*>(segment.data() + offset);
    const auto take = [&](const float* numbers, std::int64_t size) {
      if (with_tokens) {
        device_->make_tokens(numbers, to, size);
      } else {
        std::copy_n(numbers, size, to);
      }
      to += size;
    };
    if (!receive_numbers(session().channel, count, take)) {
      throw EnvironmentError("The grader did not send the numbers of a convolution.");
    }
    segment.allow(MappedSegment::kRead);
  }

  const ServeRequest& request_;
  /// Null if nothing is withheld.
  DeviceSession* device_ = request_.withheld == Withheld::kNothing ? nullptr : session().device;
};

void run_request(const ServeRequest& request, ServeReply& reply) {
  Session& s = session();
  const ConvShape& shape = s.shape = request.shape;
  const Withholding withholding(request);
  for (SharedArray* array : {&s.input, &s.weights}) array->segment.take_new();
  if (!s.input.place(request.input_offset, shape.input_size()) ||
      !s.weights.place(request.weights_offset, shape.weights_size()) ||
      !s.output.place(request.output_offset, shape.output_size())) {
    reply.status = ServeStatus::kRefused;
    reply.message = "the arrays of " + to_string(shape) + " do not fit into the shared memory";
    return;
  }
  const float* const input = s.input.begin;
  const float* const weights = s.weights.begin;
  float* const output = s.output.begin;
  const Stage stage = find_stage(request.stage);
  const auto pause = [&](int copies) {
    ServeReply paused{.token = request.token, .status = ServeStatus::kPaused};
    paused.kernels.copies = copies;
    send_message(s.channel, encode(paused));
    const auto answer = receive_message(s.channel);
    s.input.segment.take_new();
    const std::string wanted = answer ? answer->text : std::string();
    if (wanted == to_string(Step::kNewInput)) withholding.take_new_input();
    return wanted;
  };
  if (request.pauses) {
    reply.kernels = run_phases(stage, shape, input, weights, output, s.device, [&] { pause(0); });
    withholding.reveal(output);
    return;
  }
  const auto next = [&](int copies) {
    const std::string wanted = pause(copies);
    return wanted == to_string(Step::kEmptyCall)  ? Step::kEmptyCall
           : wanted == to_string(Step::kNewInput) ? Step::kNewInput
                                                  : Step::kConvolve;
  };
  const auto tell = [&] {
    if (request.tells_phases) pause(0);
  };
  const PhaseTimes times = request.steps
                               ? run_in_steps(stage, shape, input, weights, output, s.device, next)
                               : run_stage(stage, shape, input, weights, output,
                                           {.device = s.device,
                                            .warm_ups = request.warm_ups,
                                            .samples = request.samples,
                                            .emulated_calls = request.calls,
                                            .most_ms = request.most_ms,
                                            .tell = tell});
  withholding.reveal(output);
  reply.op_ms = times.op_ms;
  reply.layer_ms = times.layer_ms;
  if (!times.samples.empty()) reply.sample = times.samples.back();
}

// The stage's exception, with the device's record.
FaultRecord record_of(const std::exception& error) {
  FaultRecord record;
  if (const auto* failure = dynamic_cast<const DeviceError*>(&error)) {
    // An emulated device has seen more than the error code that was thrown.
    if (auto noted = take_noted_fault()) return *noted;
    record = failure->fault();
  }
  if (record.text.empty()) record.text = error.what();
  if (record.text.ends_with('.')) record.text.pop_back();
  // The standard library only says "Resource temporarily unavailable".
  const auto* of_system = dynamic_cast<const std::system_error*>(&error);
  if (of_system != nullptr && of_system->code() == std::errc::resource_unavailable_try_again) {
    record.text = kNoThread;
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    record.kind = FaultKind::kOutOfMemory;
  }
  return record;
}

ServeReply answer(const ServeRequest& request) {
  ServeReply reply{.token = request.token};
  DeviceSession* device = session().device;
  if (device != nullptr) reply.device = device->info().device;
  reply.no_gpu = session().no_gpu;
  take_noted_fault();  // of a call that succeeded anyway
  try {
    if (device != nullptr) device->choose_settings(request.settings);
    for (const std::string& each : request.settings) {
      if (scale_matmul == nullptr || !each.starts_with(kMatmulSetting)) continue;
      scale_matmul(std::strtof(each.c_str() + std::strlen(kMatmulSetting), nullptr));
    }
    if (request.stage.empty()) {
      for (const Stage& stage : registered_stages()) reply.stages.push_back(info_of(stage));
      if (device != nullptr) reply.measured = device->measure();
    } else {
      if (device != nullptr) {
        if (request.kernel_limit_s > 0.0) device->limit_kernels(request.kernel_limit_s);
        device->take_notes(nullptr, 0);  // of earlier calls
      }
      const TimeLimit limit(device == nullptr ? request.kernel_limit_s : 0.0);
      run_request(request, reply);
      if (device != nullptr) {
        reply.notes = device->take_notes(session().output.begin, session().shape.output_size());
      }
      // The device reported a fault that the stage ignored.
      reply.fault = take_noted_fault();
      if (reply.fault) reply.status = ServeStatus::kException;
      if (access_source != nullptr) reply.accesses = access_source();
      if (reply.status == ServeStatus::kDone) {
        reply.mark = mark_of(session().output.begin, session().shape.output_size());
      }
    }
  } catch (const NotImplementedError& error) {
    reply.status = ServeStatus::kNotImplemented;
    reply.message = error.what();
    if (const auto* exercise = dynamic_cast<const UntouchedExercise*>(&error)) {
      reply.file = exercise->file;
    }
  } catch (const std::exception& error) {
    reply.status = ServeStatus::kException;
    reply.fault = record_of(error);
  } catch (...) {
    reply.status = ServeStatus::kException;
    reply.fault = FaultRecord{FaultKind::kException, "an exception that is no std::exception"};
  }
  if (!request.stage.empty() && race_source != nullptr) reply.race = race_source();
  return reply;
}

}  // namespace

ExitCode serve(int channel_descriptor, DeviceSession* device, const std::string& no_gpu) {
  is_serving = true;
  Session& s = session();
  s.no_gpu = no_gpu;
  s.device = device;
  s.channel = channel_descriptor;
  install_crash_handler();
  if (device != nullptr) device->before_pinning(own_pages_at);
  std::atexit(tell_why_at_exit);
  while (const std::optional<Message> message = receive_message(channel_descriptor)) {
    const std::optional<ServeRequest> request = decode<ServeRequest>(message->text);
    if (!request) return ExitCode::kUsage;
    s.token = request->token;
    try {
      const auto& segments = message->descriptors;
      if (segments.size() == 3) {
        s.input.segment.map(segments[0].get(), MappedSegment::kRead);
        s.weights.segment.map(segments[1].get(), MappedSegment::kRead);
      }
      if (!segments.empty()) s.output.segment.map(segments.back().get(), MappedSegment::kWrite);
      ServeReply reply = answer(*request);
      if (device != nullptr) device->release_pinned();  // before its memory goes
      std::string steps;
      if (!request->stage.empty() && step_source != nullptr) steps = encode(step_source());
      reply.steps_bytes = static_cast<std::int64_t>(steps.size());
      if (!send_message(channel_descriptor, encode(reply)) ||
          !send_bytes(channel_descriptor, steps)) {
        break;
      }
    } catch (const EnvironmentError& error) {
      const ServeReply refusal{
          .token = request->token, .status = ServeStatus::kRefused, .message = error.what()};
      if (!send_message(channel_descriptor, encode(refusal))) break;
    }
  }
  return ExitCode::kPassed;
}

}  // namespace convlab

CONVLAB_NO_SEARCH_FOR_LEAKS_IF(convlab::is_serving)
