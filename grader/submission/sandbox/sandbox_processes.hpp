#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace convlab::grader {

/// A process and all its descendants, also orphans of descendants that ended.
std::vector<pid_t> sandbox_processes(pid_t first);

/// "/proc/PID/task/TID" of a living thread: after the first thread of a process has ended,
/// /proc/PID is empty, even if other threads go on.
std::string living_thread(pid_t process);

/// A letter for the state of each of their threads, as in proc(5): "TTSR".
std::string thread_states(const std::vector<pid_t>& processes);

/// Whether all of these threads are stopped or have ended. A thread in an uninterruptible call does
/// not count as stopped: the kernel may be working for it.
bool all_stopped(const std::string& states);

/// Whether one of these threads computes, or would if it had a processor.
bool one_is_ready(const std::string& states);

/// Processor time of all their threads so far, also of threads that have ended; negative if
/// unknown.
std::chrono::nanoseconds processor_time(const std::vector<pid_t>& processes);

/// How long their living threads have waited for a processor so far: on a busy machine even a
/// thread that computes all the time gets little processor time. 0 if the kernel does not count it.
std::chrono::nanoseconds waiting_time(const std::vector<pid_t>& processes);

/// The sum of some lines of /proc/PID/status, such as "VmHWM:". @param place  "/proc/PID"
std::int64_t status_bytes(const std::string& place, std::initializer_list<const char*> counted);

/// Memory of a process and its descendants in bytes, of every kind that the system charges to a
/// process: private, shared without a name, swapped out, page tables, and memory files that are
/// open but not mapped. Pages of files on the disk do not count.
std::int64_t box_memory(pid_t first);

}  // namespace convlab::grader
