#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace convlab::grader {

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

/// @param first  the process; none if not positive
ThreadUse thread_use(pid_t first);

/// Parts of it, for a look that must be fast.
std::string thread_states(pid_t first);
std::chrono::nanoseconds processor_time(pid_t first);

/// "/proc/PID/task/TID" of a living thread: after the first thread of a process has ended,
/// /proc/PID is empty, even if other threads go on.
std::string living_thread(pid_t process);

/// The sum of some lines of /proc/PID/status, such as "VmHWM:". @param place  "/proc/PID"
std::int64_t status_bytes(const std::string& place, std::initializer_list<const char*> counted);

/// Memory of a process and its descendants in bytes, of every kind that the system charges to a
/// process: private, shared without a name, swapped out, page tables, and memory files that are
/// open but not mapped. Pages of files on the disk do not count.
std::int64_t box_memory(pid_t first);

}  // namespace convlab::grader
