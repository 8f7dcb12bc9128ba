#include "grader/class/launcher.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace convlab::grader {

void run_chunk(const std::vector<Task>& tasks, const TaskEnded& ended,
               const volatile std::sig_atomic_t* interrupted) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (interrupted != nullptr && *interrupted != 0) return;
    tasks[i].run(interrupted);
    if (interrupted == nullptr || *interrupted == 0) ended(i);
  }
}

Launcher local_launcher(int jobs) {
  return [jobs](const std::vector<Task>& tasks, const TaskEnded& ended,
                const volatile std::sig_atomic_t* interrupted) {
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::exception_ptr problem;
    const auto work = [&] {
      for (std::size_t i = next++; i < tasks.size(); i = next++) {
        try {
          run_chunk(
              {tasks[i]},
              [&](std::size_t) {
                const std::lock_guard lock(mutex);
                ended(i);
              },
              interrupted);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!problem) problem = std::current_exception();
        }
      }
    };
    // A child process ends with the thread that started it, and these live until all have ended.
    std::vector<std::thread> workers;
    const std::size_t count = std::min(tasks.size(), static_cast<std::size_t>(std::max(1, jobs)));
    for (std::size_t i = 0; i < count; ++i) workers.emplace_back(work);
    for (std::thread& worker : workers) worker.join();
    if (problem) std::rethrow_exception(problem);
  };
}

}  // namespace convlab::grader
