#include "grader/scores/ordered_reports.hpp"

#include <utility>

namespace convlab::grader {

OrderedReports::OrderedReports(const GradeObserver& to, std::size_t stages)
    : to_(to), stages_(stages) {}

template <class... Values>
std::function<void(Values...)> OrderedReports::in_order(
    std::size_t stage, const std::function<void(Values...)>& tell) {
  return [this, stage, &tell](Values... values) {
    const std::lock_guard lock(mutex_);
    if (stage == first_) return tell(values...);
    stages_[stage].held.push_back([&tell, values...] { tell(values...); });
  };
}

GradeObserver OrderedReports::observer_of(std::size_t stage) {
  return {.announce =
              [this](const std::string& what) {
                const std::lock_guard lock(mutex_);
                to_.announce(what);
              },
          .cases_passed = in_order(stage, to_.cases_passed),
          .run_ended = in_order(stage, to_.run_ended),
          .found = in_order(stage, to_.found),
          .noted = in_order(stage, to_.noted),
          .warned = in_order(stage, to_.warned)};
}

void OrderedReports::end(std::size_t stage) {
  const std::lock_guard lock(mutex_);
  stages_[stage].ended = true;
  while (first_ < stages_.size() && stages_[first_].ended) {
    if (++first_ == stages_.size()) return;
    for (const auto& tell : std::exchange(stages_[first_].held, {})) tell();
  }
}

}  // namespace convlab::grader
