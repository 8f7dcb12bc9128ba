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
  std::filesystem::path
      reference{};  ///< the reference solution's program, whether it exists or not
  bool measures_speed = true;
  std::optional<SolvedPuzzles> puzzles{};            ///< none: they are no part of the check
  std::optional<std::set<std::string>> predicted{};  ///< stages; none: as for puzzles
};

/// How exactly a custom submission must compute, if its own declaration does not count.
struct PrecisionRequest {
  std::optional<Precision> declared{};  ///< none: the tightest class that it keeps
};

/// Why the points for a speed are open after a check without speeds.
inline constexpr const char* kSpeedLeftOut = "left out (--no-speed)";

/// What to grade.
struct GradeRequest {
  std::string milestone;
  std::string solution = "student";
  std::filesystem::path program{};   ///< the milestone's executable
  std::optional<Device> device{};    ///< of a custom submission, also of one that did not build
  std::optional<Finding> unbuilt{};  ///< why there is none; then nothing runs
  std::vector<std::filesystem::path> sources{};  ///< its source files, to quote
  std::string warnings{};              ///< of the compiler about these, shown beside a finding
  std::optional<std::string> stage{};  ///< none: every stage of the program
  std::vector<int> batches{};          ///< none: 100, 1000, and 10000 unless it is emulated
  std::string network = kDefaultPreset;
  std::optional<ConvShape> only_case{};  ///< check this convolution and nothing else
  std::optional<std::uint64_t> seed{};   ///< of the element-wise cases; none: another one each time
  std::optional<std::chrono::milliseconds> time_limit{};  ///< of one convolution
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::now() + kMostTime;
  std::optional<ScoreRequest> score{};
  FileInterface form = FileInterface::kStages;  ///< of a custom submission
  RulesRequest rules{};
  std::optional<PrecisionRequest> precision{};  ///< none: that of the milestone's table
  std::set<std::string> refused{};              ///< findings that are no mere warnings
  BuildEmulated build_emulated{};               ///< of a custom submission; null for others
  std::function<std::filesystem::path()> build_traced{};  ///< see CustomSubmission
  /// An earlier check of the same program: nothing is checked again, only the speeds are measured.
  std::optional<CheckResult> checked{};
};

/// Callbacks that report progress.
struct GradeObserver {
  std::function<void(const std::string& what)> announce = [](const auto&...) {};
  std::function<void(const StageInfo&, std::size_t cases)> cases_passed = [](const auto&...) {};
  std::function<void(const RunResult&)> run_ended = [](const auto&...) {};
  std::function<void(const StageInfo&, const Finding&)> found = [](const auto&...) {};
  /// A remark, not a fault.
  std::function<void(const StageInfo&, const std::string&)> noted = [](const auto&...) {};
  /// A fault that is forgiven.
  std::function<void(const StageInfo&, const Finding&)> warned = [](const auto&...) {};
};

/// Checks, measures and scores, in this order. Checking runs the element-wise cases, looks at the
/// behaviour and runs the network at every batch, stage by stage: a stage stops at its first
/// finding, the others still run. The speeds that give points are measured in turns with the
/// reference; points follow from the findings and the speeds. Builds nothing.
/// @throws UsageError for an unknown stage (lists the known ones) or network, EnvironmentError for
/// missing data or memory, and if the isolated program cannot reach a GPU that answers outside
CheckResult grade(const GradeRequest& request, const GradeObserver& observer);

}  // namespace convlab::grader
