#include "common/base/in_threads.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <vector>

namespace convlab {

void in_threads(std::size_t count, std::size_t threads,
                const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto work_on = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      throw;
    }
  };
  std::vector<std::future<void>> workers;
  for (std::size_t i = 0; i < std::min(std::max<std::size_t>(1, threads), count); ++i) {
    workers.push_back(std::async(std::launch::async, work_on));
  }
  // All have ended before the first exception is thrown: they use what belongs to the caller.
  for (auto& worker : workers) worker.wait();
  for (auto& worker : workers) worker.get();
}

}  // namespace convlab
