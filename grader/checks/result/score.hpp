#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/checks/result/finding.hpp"

namespace convlab::grader {

/// The outcome of one item of points.
enum class Credit {
  kEarned,       ///< all of them
  kPartial,      ///< some, or none
  kUndecided,    ///< measured, but noise decides how many; the largest possible number counts
  kNotMeasured,  ///< counts neither for nor against
};

/// "earned", "partial", "undecided", "not-measured".
const char* to_string(Credit credit);

/// A stage and the reference solution, timed in turns on the same machine. All samples are kept:
/// one series per convolution, in the order in which they were taken, sample i of both side by
/// side.
struct SpeedMeasure {
  std::string reference{};  ///< stage of the reference solution
  std::vector<std::vector<double>> yours_ms{};
  std::vector<std::vector<double>> reference_ms{};
  double speed = 0.0;  ///< reference's time over yours, sums of the convolutions' medians
  double low = 0.0;    ///< 95 % of the resampled series lie between low and high
  double high = 0.0;
  std::optional<double> bound_ms{};  ///< the least time of any program, if known
  int rounds = 0;

  friend bool operator==(const SpeedMeasure&, const SpeedMeasure&) = default;
};

/// The sum of the convolutions' medians, in milliseconds.
double sum_of_medians(const std::vector<std::vector<double>>& series);

/// What was measured for one item: a speed, counters, a finding of the submission, or none of these
/// and why.
struct Measured {
  std::string stage{};
  int batch = 0;  ///< of a speed
  std::optional<SpeedMeasure> speed{};
  std::vector<double> counters{};  ///< in the order of counters()
  std::optional<Finding> finding{};
  std::string why_not{};
};

/// One line of the table of points.
struct ScoreItem {
  std::string stage{};
  std::string item{};  ///< "runs", "cases", "network", "speed"
  int batch = 0;       ///< of network and speed
  double points = 0.0;
  double earned = 0.0;
  Credit credit = Credit::kNotMeasured;
  std::string yours{};
  std::string reference{};
  std::string why{};
  std::optional<SpeedMeasure> speed{};

  friend bool operator==(const ScoreItem&, const ScoreItem&) = default;
};

/// Stages among which a student chooses: together they give at most `most` points.
struct ScoreChoice {
  double most = 0.0;
  std::vector<std::string> stages{};

  friend bool operator==(const ScoreChoice&, const ScoreChoice&) = default;
};

/// Partial credit: what a submission earned, item by item.
struct Score {
  std::vector<ScoreItem> items{};
  std::optional<ScoreChoice> choice{};  ///< none: every item counts

  /// Whether the stage is one of the choice.
  [[nodiscard]] bool is_optional(const std::string& stage) const;
  [[nodiscard]] double earned() const;
  /// The points of the items that count: not those that were not measured.
  [[nodiscard]] double counted() const;
  [[nodiscard]] double total() const;

  friend bool operator==(const Score&, const Score&) = default;
};

}  // namespace convlab::grader
