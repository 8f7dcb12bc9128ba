#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/printable.hpp"
#include "common/base/process_usage.hpp"
#include "common/base/scratch_folder.hpp"
#include "common/serve/channel.hpp"
#include "grader/submission/sandbox/sandbox.hpp"

namespace convlab::grader {

/// How a process ended, or was ended.
struct Ending {
  enum class Kind {
    kExited,   ///< by itself, with `code`
    kSignal,   ///< by the signal `code`
    kTimeout,  ///< stopped by the grader: the time limit
    kFlood,    ///< stopped by the grader: it printed too much
    kMemory,   ///< stopped by the grader: it took nearly all memory of the machine
    kNoStart,  ///< the program could not be executed; `code` is errno
  };
  Kind kind = Kind::kExited;
  int code = 0;
};

/// What the threads of a process and of all its descendants do, also of orphans.
struct ThreadUse {
  std::string states{};  ///< a letter for each thread, as in proc(5): "TTSR"
  /// Processor time so far, also of threads that have ended; negative if unknown.
  std::chrono::nanoseconds computed{-1};
  /// How long living threads have waited for a processor so far: on a busy machine even a thread
  /// that computes all the time gets little processor time. 0 if the kernel does not count it.
  std::chrono::nanoseconds waited{0};

  /// Whether all are stopped or have ended. A thread in an uninterruptible call does not count as
  /// stopped: the kernel may be working for it.
  [[nodiscard]] bool all_stopped() const {
    return states.find_first_not_of("TtZXx") == std::string::npos;
  }
  /// Whether one computes, or would if it had a processor.
  [[nodiscard]] bool is_busy() const { return states.find('R') != std::string::npos; }
};

/// An isolated program. It has a channel on kServeDescriptor, an empty working folder, few
/// environment variables and no other open file; its output is captured. It ends with the grader,
/// and all processes that it started end with it.
class ChildProcess {
 public:
  static constexpr std::size_t kOutputLimit = std::size_t{1} << 20;

  struct Options {
    SandboxPolicy policy{};
    std::filesystem::path folder{};          ///< to work in; none: a fresh one, removed at the end
    std::vector<std::string> environment{};  ///< more variables, "NAME=value"
    /// The memory limit of the sandbox, including memory shared with the grader; 0: nine tenths of
    /// the free memory, so that there is room for a second copy of the arrays.
    std::int64_t memory_bytes = 0;
    std::size_t kept_output = 4096;  ///< bytes of its beginning and of its end
  };

  /// @throws EnvironmentError if no process or pipe can be created
  ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
               const Options& options);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() { stop(); }

  [[nodiscard]] int channel() const { return channel_.get(); }

  /// The next message, or the end. @throws EnvironmentError if this machine does not isolate it
  std::variant<Message, Ending> receive(std::chrono::milliseconds limit);

  /// The end of a program that sends no messages.
  Ending wait(std::chrono::milliseconds limit);

  /// Ends it if it still runs.
  Ending stop();

  /// Stops all processes in its sandbox (SIGSTOP). @return whether they have stopped in time
  bool freeze();

  /// Whether every thread has been stopped since freeze, and none has used a processor.
  [[nodiscard]] bool stands_still() const;

  /// Continues all stopped processes.
  void thaw();

  [[nodiscard]] ThreadUse threads() const;

  /// False if the program has changed its environment variables; true if unknown.
  [[nodiscard]] bool keeps_environment() const;

  /// The beginning and the end of its output, as long as the options say; printable().
  [[nodiscard]] std::string output_head() const { return printable(printed_first_); }
  [[nodiscard]] std::string output_tail() const { return printable(printed_last_); }

  /// What the process used so far, as the system counts it; `elapsed_s` since its start.
  [[nodiscard]] ProcessUsage usage() const;

  /// How far the kernel isolates it; known once it has started.
  [[nodiscard]] const Isolation& isolation();

 private:
  void read_output();
  void read_notices();
  [[nodiscard]] bool takes_all_memory();
  [[nodiscard]] pid_t program() const;
  Ending wait_for_end();
  Ending kill_because(Ending::Kind kind);
  Ending ending_of(int warden_status);

  std::filesystem::path folder_;
  std::string variables_;  ///< as /proc/PID/environ shows them
  std::optional<ScratchFolder> own_folder_;
  Descriptor channel_;
  Descriptor output_;
  Descriptor notices_;
  std::string printed_first_;
  std::string printed_last_;
  std::size_t kept_output_;
  std::size_t printed_size_ = 0;
  std::int64_t memory_limit_ = 0;
  std::chrono::steady_clock::time_point next_look_;
  std::chrono::nanoseconds frozen_at_{-1};  ///< processor time when it last stood still
  pid_t warden_ = -1;
  mutable pid_t program_ = -1;
  std::chrono::steady_clock::time_point start_;
  std::optional<Isolation> isolation_;
  std::optional<int> exec_error_;
  std::optional<int> program_status_;  ///< as waitpid tells it
  std::optional<Ending> ending_;
};

}  // namespace convlab::grader
