#pragma once

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/json_text.hpp"
#include "grader/checks/result/check_result.hpp"

namespace convlab::grader {

/// A place on the curve of an item for speed.
struct CurvePoint {
  double speed = 0.0;  ///< the reference's time over the submission's
  double share = 0.0;  ///< of the item's points

  friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

/// A counter that a stage must keep (grader/measure/counters.hpp).
struct CounterLimit {
  std::string counter{};
  double at_least = -HUGE_VAL;
  double at_most = HUGE_VAL;

  /// NaN keeps none.
  [[nodiscard]] bool is_kept_by(double value) const {
    return value >= at_least && value <= at_most;
  }
};

/// The first limit that is not kept, "loads for each multiply-add 4.00, at most 1.70", and how many
/// are.
struct KeptLimits {
  std::size_t number = 0;
  std::string missed{};
};

/// @param values  by id
KeptLimits kept_limits(const std::vector<CounterLimit>& limits,
                       const std::map<std::string, double>& values);

/// Of counters that make the stage run once more (Counter::is_part).
std::vector<std::string> parts_asked(const std::vector<CounterLimit>& limits);

/// @param json  a list of {"counter": …, "at_most": …} or "at_least"
/// @throws EnvironmentError for an unknown counter, or without one bound
std::vector<CounterLimit> limits_of(const Json& json);

/// What the points of one item are given for.
struct ScoreRule {
  enum class What {
    kRuns,        ///< the program starts and gives an output
    kPrediction,  ///< a reasoned prediction was made before the first measurement
    kPuzzles,     ///< in proportion to the puzzles before the milestone that are solved
    kCases,       ///< in proportion to the element-wise cases that pass
    kNetwork,     ///< the network at `batch` gives the expected count
    kSpeed,       ///< op time at `batch` compared with the reference's
    kCounters,    ///< in proportion to the limits that the emulated device's counters keep
    kTechnique,  ///< what the stage is about: cases, networks, speeds and counters give points only
                 ///< if the counters keep all of these limits
  };
  std::string stage{};
  What what = What::kRuns;
  double points = 0.0;
  int batch = 0;
  std::string reference{};          ///< stage of the reference solution
  std::vector<CurvePoint> curve{};  ///< ascending
  double near_bound = 0.0;  ///< all points from this share of the physical bound on; 0: never
  std::vector<CounterLimit> limits{};  ///< of counters
  bool on_network = false;  ///< a technique of kernels that only the network's convolutions have

  [[nodiscard]] bool is_of_counters() const {
    return what == What::kCounters || what == What::kTechnique;
  }
};

/// "runs", "prediction", "puzzles", "cases", "network", "speed", "counters", "technique".
const char* to_string(ScoreRule::What what);

/// How a milestone's points are given: scores.json beside the chapter (docs/grading.md).
struct ScoreRules {
  std::string network{};    ///< the only one that gives points
  int rounds = 1;           ///< the most rounds of a speed while noise decides its points
  double tolerance = 0.0;   ///< points that noise may decide
  std::string precision{};  ///< of every file, also in the course's form; empty: the file's own
  std::string rules{};      ///< the same of the rules, as --rules has them
  std::vector<std::string> only_gpu{};  ///< stages that emulation gives no points for
  std::vector<ScoreRule> items{};
  std::optional<ScoreChoice> choice{};  ///< the stages of a student's choice, and their points
};

/// @param name  stands for the file in messages
/// @throws EnvironmentError that names file, item and what to do if the text is invalid
ScoreRules parse_score_rules(const std::string& text, const std::string& name);

/// The rules in scores.json of a milestone's folder.
/// @throws EnvironmentError as above, or if there is no such file
ScoreRules load_score_rules(const std::filesystem::path& milestone_folder);

/// Gives the points of a milestone with one stage to a stage with this name, as a file with the
/// course's interface has one. @return false for a milestone with several
bool name_only_stage(ScoreRules& rules, const std::string& stage);

}  // namespace convlab::grader
