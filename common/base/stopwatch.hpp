#pragma once

#include <chrono>

namespace convlab {

/// Milliseconds since its construction, on a clock that never runs backwards.
class Stopwatch {
 public:
  [[nodiscard]] double milliseconds() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace convlab
