#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "grader/scores/grade.hpp"

namespace convlab::grader {

/// Passes on what the checks of several stages report at the same time, in the order of the stages:
/// what a later stage reports waits until the earlier ones have ended. Progress does not wait.
class OrderedReports {
 public:
  /// @param to  outlives this object
  OrderedReports(const GradeObserver& to, std::size_t stages);

  /// For the check of one stage, from any thread.
  GradeObserver observer_of(std::size_t stage);

  /// This stage reports nothing more.
  void end(std::size_t stage);

 private:
  struct Stage {
    std::vector<std::function<void()>> held{};
    bool ended = false;
  };

  template <class... Values>
  std::function<void(Values...)> in_order(std::size_t stage,
                                          const std::function<void(Values...)>& tell);

  const GradeObserver& to_;
  std::mutex mutex_;
  std::vector<Stage> stages_;
  std::size_t first_ = 0;  ///< the first stage that has not ended
};

}  // namespace convlab::grader
