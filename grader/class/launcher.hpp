#pragma once

#include <csignal>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "grader/class/task.hpp"

namespace convlab::grader {

/// Called for every task that ended, with its place in the list; never by two threads at once.
using TaskEnded = std::function<void(std::size_t index)>;

/// Runs tasks until each has an outcome, or until interrupted.
using Launcher = std::function<void(const std::vector<Task>& tasks, const TaskEnded& ended,
                                    const volatile std::sig_atomic_t* interrupted)>;

/// Runs them on this machine.
/// @param jobs  how many at the same time, at least 1
/// @throws EnvironmentError of the first task that could not run; the others still run
Launcher local_launcher(int jobs);

/// Runs tasks one after the other, as a job of any launcher does.
void run_chunk(const std::vector<Task>& tasks, const TaskEnded& ended,
               const volatile std::sig_atomic_t* interrupted);

}  // namespace convlab::grader
