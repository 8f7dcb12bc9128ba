#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/network/preset.hpp"
#include "grader/course/course.hpp"
#include "grader/measure/counters.hpp"
#include "grader/report/terminal.hpp"
#include "grader/submission/build_submission.hpp"

namespace convlab::grader {

/// Which convolution of which stage is counted.
struct CountedWork {
  SubmittedSources submitted{};
  std::string stage{};  ///< empty: the only one
  std::string network{};
  int layer = 0;  ///< from 1; 0: the last
  /// Counted instead of a convolution of the network.
  std::optional<ConvShape> shape{};
};

/// A stage in a program that was built to be traced.
struct TracedStage {
  std::unique_ptr<Submission> submission{};
  StageInfo stage{};
  ConvShape shape{};  ///< of the convolution, one image
  int layer = 0;
  std::vector<std::filesystem::path> texts{};
  std::optional<Finding> finding{};  ///< why there is no stage
};

/// Builds a device file so that the emulated device sees its accesses.
/// @throws UsageError if there is no such stage or layer
/// @throws EnvironmentError if the file cannot be built
TracedStage traced_stage(const CountedWork& work, ProgressLine& progress);

/// Those of its files that kernels were seen in: other headers may hold kernels with the same
/// names.
SourceText used_sources(const TracedStage& traced, const std::set<std::string>& files);

/// What was counted, and the sources to quote.
struct CountedStage {
  StageCounts counts{};
  SourceText sources{};
  std::optional<Finding> finding{};  ///< a race, or why the counts are missing
  int layer = 0;                     ///< 0: none of the network
};

/// Counts one convolution of one image. @throws as traced_stage()
CountedStage counted_stage(const CountedWork& work);

/// What a command line asks to count: a stage, a puzzle, or a file with the course's interface.
struct CountedOptions {
  std::string milestone{};
  std::string stage{};
  std::string network = kDefaultPreset;
  std::string solution = "student";
  int layer = 0;
};

/// @throws UsageError for m1, before anything is built
void require_kernels(const std::string& milestone);

/// @throws UsageError if there is nothing to count: m1 has no kernels, m4 many stages
CountedWork counted_work(const CourseMilestone& milestone, const CountedOptions& options);

}  // namespace convlab::grader
