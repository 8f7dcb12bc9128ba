#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
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
#include "grader/submission/sandbox/thread_watch.hpp"

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

/// While it exists, Ctrl-C does not end the grader but the wait for an answer, which throws
/// Interrupted. A second Ctrl-C ends the grader.
class Interruptible {
 public:
  struct Interrupted {};

  Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  ~Interruptible();

  static bool exists() { return exists_ != 0; }
  /// @throws Interrupted after Ctrl-C
  static void look();

 private:
  static inline volatile std::sig_atomic_t exists_ = 0;
  static inline volatile std::sig_atomic_t asked_ = 0;
  struct sigaction before_ {};
};

/// An isolated program. It has a channel on kServeDescriptor, an empty working folder, few
/// environment variables and no other open file; its output is captured. It ends with the grader,
/// and all processes that it started end with it.
class ChildProcess {
 public:
  static constexpr std::size_t kOutputLimit = std::size_t{1} << 20;

  struct Options {
    SandboxPolicy policy{};
    std::filesystem::path folder{};          ///< to work in; none: a fresh one, no compiler's
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

  /// The next message, or the end. @throws EnvironmentError if this machine does not isolate it,
  /// Interrupted
  std::variant<Message, Ending> receive(std::chrono::milliseconds limit);

  /// The end of a program that sends no messages.
  Ending wait(std::chrono::milliseconds limit);

  /// Ends it if it still runs.
  Ending stop();

  /// Stops all processes in its sandbox (SIGSTOP). @return whether they have stopped in time
  bool freeze();

  /// Whether all threads are still stopped and none has used a processor since freeze.
  [[nodiscard]] bool stands_still();

  /// Continues all stopped processes.
  void thaw();

  [[nodiscard]] ThreadUse threads() { return watch_.look_with_times(); }

  /// Of all its threads, also of those that have ended; negative if there is none.
  [[nodiscard]] std::chrono::nanoseconds processor_time() const { return watch_.processor_time(); }

  /// False if the program has changed its environment variables; true if unknown.
  [[nodiscard]] bool keeps_environment();

  /// The beginning and the end of its output, as long as the options say; printable().
  [[nodiscard]] std::string output_head() const { return printable(printed_first_); }
  [[nodiscard]] std::string output_tail() const { return printable(printed_last_); }

  /// What the process used so far, as the system counts it; `elapsed_s` since its start.
  [[nodiscard]] ProcessUsage usage();

  /// How far the kernel isolates it; known once it has started.
  [[nodiscard]] const Isolation& isolation();

 private:
  void read_output();
  void read_notices();
  [[nodiscard]] bool takes_all_memory();
  [[nodiscard]] pid_t program();
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
  pid_t program_ = -1;
  ThreadWatch watch_{-1};
  Descriptor environment_;  ///< /proc/PID/environ
  std::chrono::steady_clock::time_point start_;
  std::optional<Isolation> isolation_;
  std::optional<int> exec_error_;
  std::optional<int> program_status_;  ///< as waitpid tells it
  std::optional<Ending> ending_;
};

}  // namespace convlab::grader
