#include "grader/checks/result/score.hpp"

#include <algorithm>
#include <functional>

#include "common/base/enum_name.hpp"
#include "common/timing/statistics.hpp"

namespace convlab::grader {

const char* to_string(Credit credit) {
  return enum_name(credit, {"earned", "partial", "undecided", "not-measured"});
}

double sum_of_medians(const std::vector<std::vector<double>>& series) {
  double sum = 0.0;
  for (const std::vector<double>& samples : series) sum += spread_of(samples).median;
  return sum;
}

bool Score::is_optional(const std::string& stage) const {
  return choice && std::ranges::find(choice->stages, stage) != choice->stages.end();
}

// Points of the choice beyond its maximum do not count.
static double sum_of(const Score& score, const std::function<double(const ScoreItem&)>& points) {
  double required = 0.0;
  double chosen = 0.0;
  for (const ScoreItem& item : score.items) {
    (score.is_optional(item.stage) ? chosen : required) += points(item);
  }
  return required + (score.choice ? std::min(chosen, score.choice->most) : 0.0);
}

double Score::earned() const {
  return sum_of(*this, [](const ScoreItem& item) { return item.earned; });
}

double Score::counted() const {
  return sum_of(*this, [](const ScoreItem& item) {
    return item.credit == Credit::kNotMeasured ? 0.0 : item.points;
  });
}

double Score::total() const {
  return sum_of(*this, [](const ScoreItem& item) { return item.points; });
}

}  // namespace convlab::grader
