#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/custom_submission/build_custom_submission.hpp"
#include "common/network/preset.hpp"
#include "grader/checks/custom_submission.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/checks/rules.hpp"
#include "grader/scores/score_rules.hpp"

namespace convlab::grader {

/// How to give points for a check.
struct ScoreRequest {
  ScoreRules rules{};
  std::filesystem::path reference{};  ///< the reference solution's program, if it exists
  bool measures_speed = true;
  std::optional<SolvedPuzzles> puzzles{};            ///< none: they are no part of the check
  std::optional<std::set<std::string>> predicted{};  ///< stages; none: as for puzzles
};

/// Why the points for a speed are open after a check without speeds.
inline constexpr const char* kSpeedLeftOut = "left out (--no-speed)";

/// Whether small changes of a wrong file are tried (checks/mend). That takes 3 s of processor time
/// for m1 and 15 s for kernels; usually all of it but for m4.
enum class MendSearch { kUsual, kAlways, kNever };

/// What to grade.
struct GradeRequest {
  std::string milestone;
  std::string solution = "student";
  CustomSubmission work{};
  std::optional<std::string> stage{};  ///< none: every stage of the program
  std::vector<int> batches{};          ///< none: 100, 1000, and 10000 unless it is emulated
  std::string network = kDefaultPreset;
  std::optional<ConvShape> only_case{};  ///< check this convolution and nothing else
  std::optional<std::uint64_t> seed{};   ///< of the element-wise cases; none: another one each time
  std::optional<std::chrono::milliseconds> time_limit{};  ///< of one convolution
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::now() + kMostTime;
  std::optional<ScoreRequest> score{};
  RulesRequest rules{};
  std::optional<Precision> precision{};  ///< none: that of the milestone's table
  bool finds_precision = false;          ///< none of these: the tightest class that it keeps
  std::set<std::string> refused{};       ///< findings that are no mere warnings
  MendSearch mend = MendSearch::kUsual;
  bool competition = false;  ///< also the course's ranked run, and its rules
  /// An earlier check of the same program: nothing is checked again, only the speeds are measured.
  std::optional<CheckResult> checked{};
};

/// What the check of a stage has to say; one of these.
struct StageReport {
  std::size_t cases_passed = 0;  ///< all of them
  std::optional<RunResult> run{};
  std::optional<Finding> finding{};
  std::optional<Finding> mended{};  ///< it was told; what is new are its mends
  bool is_forgiven = false;         ///< the finding is only a warning
  std::string note{};               ///< no fault
};

/// Callbacks: what is done now, and what it has shown.
struct GradeObserver {
  std::function<void(const std::string& what)> announce = [](const auto&...) {};
  std::function<void(const StageInfo&, const StageReport&)> tell = [](const auto&...) {};
};

/// Checks, measures and scores, in this order. Checking runs the element-wise cases, looks at the
/// behaviour and runs the network at every batch: a stage stops at its first finding, the others
/// still run. The speeds that give points are measured in turns with the reference.
/// @throws UsageError for an unknown stage (lists the known ones) or network, EnvironmentError for
/// missing data or memory, and if the isolated program cannot reach a GPU that answers outside
CheckResult grade(const GradeRequest& request, const GradeObserver& observer);

/// The verdict and the points that kept evidence gets from today's judge and these rules, without a
/// run. None if something must run: an experiment, a count or a time is missing, or other runs
/// than those that were kept would give the points.
std::optional<CheckResult> grade_again(CheckResult kept, const ScoreRules& rules);

}  // namespace convlab::grader
