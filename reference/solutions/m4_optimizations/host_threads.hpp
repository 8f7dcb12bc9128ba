#pragma once

#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace convlab {

/// Calls action(i) for i < count at the same time: the first on this thread, each other one on its
/// own thread. Returns when all are done. @throws what one of them threw
template <class Action>
void on_host_threads(std::size_t count, const Action& action) {
  std::vector<std::exception_ptr> failures(count);
  const auto guarded = [&](std::size_t i) {
    try {
      action(i);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < count; ++i) threads.emplace_back(guarded, i);
  guarded(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace convlab
