#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "grader/checks/result/check_result.hpp"
#include "grader/scores/score_rules.hpp"

namespace convlab::grader {

/// The points for a measured speed.
struct SpeedPoints {
  double least = 0.0;  ///< at the lower end of what noise allows
  double most = 0.0;
  double points = 0.0;      ///< the points that the submission gets
  bool decided = false;     ///< noise changes them by at most the tolerance
  bool no_measure = false;  ///< the bounds are so far apart that the speed says nothing
};

/// By the curve, or all points near the bound. Noise costs no points, within a factor of 3 and up
/// to the speed of the fastest calls. If the bounds are wider, the lower one counts, and a person
/// must look.
SpeedPoints points_for(const SpeedMeasure& measure, const ScoreRule& rule, double tolerance);

/// The data of a check that the table of points needs.
struct CheckedWork {
  const CheckResult& check;
  std::optional<std::string> only_stage{};  ///< the check was restricted to this one
  std::vector<int> batches{};               ///< and for these
  std::string network{};
  bool emulated = false;  ///< no op times: without a GPU, or of a CPU's emulation
  std::size_t cases_in_all = 0;
  std::map<std::string, std::size_t> cases_of{};     ///< of stages with their own plan
  std::optional<SolvedPuzzles> puzzles{};            ///< none: they were not checked
  std::optional<std::set<std::string>> predicted{};  ///< stages; none: nobody looked
};

/// Whether this rule's speed can be measured after such a check. If not, `why` gets the reason; it
/// stays empty if the work itself is at fault.
bool can_measure(const ScoreRule& rule, const ScoreRules& rules, const CheckedWork& work,
                 std::string& why);

/// Whether the stage's counters say something: all of its cases passed.
bool can_count(const ScoreRule& rule, const CheckedWork& work);

/// The table of points of a check.
/// @param measured  for every rule for speed or counters that could be measured or counted
Score make_score(const ScoreRules& rules, const CheckedWork& work,
                 const std::vector<Measured>& measured);

}  // namespace convlab::grader
