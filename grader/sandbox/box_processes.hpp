#pragma once

#include <sys/types.h>

#include <chrono>
#include <vector>

namespace convlab::grader {

/// A process and all that it started, also what was left to it by those that ended.
std::vector<pid_t> box_processes(pid_t first);

/// Whether every thread of every one of them is stopped or has ended. One in an uninterruptible
/// call is not: the kernel may be working for it.
bool all_stopped(const std::vector<pid_t>& processes);

/// Processor time of all their threads so far, also of threads that have ended; negative if
/// unknown.
std::chrono::nanoseconds processor_time(const std::vector<pid_t>& processes);

}  // namespace convlab::grader
