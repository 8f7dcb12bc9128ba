#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace convlab::grader {

/// A process and all that it started, also what was left to it by those that ended.
std::vector<pid_t> box_processes(pid_t first);

/// "/proc/PID/task/TID" of a thread that lives: what /proc tells of a process whose first thread
/// has ended is empty, though others go on.
std::string living_thread(pid_t process);

/// A letter for the state of each of their threads, as proc(5) explains them: "TTSR".
std::string thread_states(const std::vector<pid_t>& processes);

/// Whether all of these threads are stopped or have ended. One in an uninterruptible call is not:
/// the kernel may be working for it.
bool all_stopped(const std::string& states);

/// Whether one of these threads computes, or would if it had a processor.
bool one_is_ready(const std::string& states);

/// Processor time of all their threads so far, also of threads that have ended; negative if
/// unknown.
std::chrono::nanoseconds processor_time(const std::vector<pid_t>& processes);

/// How long their threads that live have waited for a processor so far: on a busy machine who
/// computes all the time gets little processor time. 0 where the kernel does not count it.
std::chrono::nanoseconds waiting_time(const std::vector<pid_t>& processes);

}  // namespace convlab::grader
