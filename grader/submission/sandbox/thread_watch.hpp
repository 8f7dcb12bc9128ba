#pragma once

#include <sys/types.h>

#include <chrono>
#include <ctime>
#include <string>
#include <vector>

#include "common/base/descriptor.hpp"

namespace convlab::grader {

/// What the threads of a process and of all its descendants do, also of orphans.
struct ThreadUse {
  std::string states{};  ///< a letter for each thread, as in proc(5): "TTSR"
  /// Processor time so far, also of threads that have ended; negative if unknown.
  std::chrono::nanoseconds computed{-1};
  /// How long living threads have waited for a processor so far: on a busy machine even a thread
  /// that computes all the time gets little processor time. 0 if the kernel does not count it.
  std::chrono::nanoseconds waited{0};
  /// After SIGSTOP: whether no thread can run code of its own. A thread that sleeps need not wake
  /// for that: once one thread of its process has stopped, every other one stops before it goes
  /// on. A thread in an uninterruptible call counts as running: the kernel may be working for it.
  bool stopped = true;

  /// Whether one computes, or would if it had a processor.
  [[nodiscard]] bool is_busy() const { return states.find('R') != std::string::npos; }
};

/// Looks at all processes that descend from a warden. The files of /proc that it reads stay open: a
/// call of a convolution is looked at several times, and opening them took longer than the call.
/// Source: proc(5).
class ThreadWatch {
 public:
  explicit ThreadWatch(pid_t warden) : warden_{warden} {}

  /// The states of all threads but the warden's. Finds new processes and threads, too.
  ThreadUse look();

  /// The same with the times.
  ThreadUse look_with_times();

  /// Whether the threads that the last look saw are stopped now; it looks for no others.
  [[nodiscard]] bool are_stopped();

  /// Of the processes that the last look saw and that still exist; negative if there is none.
  [[nodiscard]] std::chrono::nanoseconds processor_time() const;

  /// The numbers of these processes; the program's own is the first.
  [[nodiscard]] std::vector<pid_t> processes() const;

  /// A process as a folder of /proc: of a living thread, because after the first thread has ended
  /// /proc/PID is empty, even if others go on.
  [[nodiscard]] static std::string folder_of(pid_t process);

 private:
  struct Thread {
    pid_t number = -1;
    Descriptor stat{};      ///< its state
    Descriptor children{};  ///< the processes that it started
    char state = 'X';       ///< at the last look
  };
  struct Process {
    pid_t number = -1;
    clockid_t clock = 0;
    Descriptor tasks{};  ///< /proc/PID/task
    std::vector<Thread> threads{};
  };

  static ThreadUse use_of(const std::vector<Process>& processes);
  static void list_threads(Process& process);
  static void look_at(Process& process);
  void look_at_all();

  Process warden_;
  std::vector<Process> processes_;  ///< without the warden
};

}  // namespace convlab::grader
