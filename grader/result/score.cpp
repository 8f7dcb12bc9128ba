#include "grader/result/score.hpp"

#include "common/timing/statistics.hpp"

namespace convlab::grader {

const char* to_string(Credit credit) {
  switch (credit) {
    case Credit::kEarned:
      return "earned";
    case Credit::kPartial:
      return "partial";
    case Credit::kUndecided:
      return "undecided";
    case Credit::kNotMeasured:
      return "not-measured";
  }
  return "unknown";
}

double sum_of_medians(const std::vector<std::vector<double>>& series) {
  double sum = 0.0;
  for (const std::vector<double>& samples : series) sum += spread_of(samples).median;
  return sum;
}

double Score::earned() const {
  double sum = 0.0;
  for (const ScoreItem& item : items) sum += item.earned;
  return sum;
}

double Score::counted() const {
  double sum = 0.0;
  for (const ScoreItem& item : items) sum += item.credit == Credit::kNotMeasured ? 0 : item.points;
  return sum;
}

double Score::total() const {
  double sum = 0.0;
  for (const ScoreItem& item : items) sum += item.points;
  return sum;
}

}  // namespace convlab::grader
