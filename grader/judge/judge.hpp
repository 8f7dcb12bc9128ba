#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/checks/result/evidence.hpp"

namespace convlab::grader {

/// What becomes of a stage.
struct Judgement {
  std::optional<Finding> finding{};  ///< none: it passes
  std::vector<Finding> warnings{};   ///< faults that the rules forgive
  CountedRuns runs{};
};

/// An experiment that is needed.
struct NextRun {
  Experiment experiment = Experiment::kCases;
  Mode mode = Mode::kPlain;
  Precision precision = Precision::kFp32;
  bool exchanges = true;           ///< whether the input may change between prolog and convolve
  std::optional<Finding> about{};  ///< what it is to explain
  std::string meeting_places{};    ///< of kInStep
};

/// Pure: runs nothing, and the same evidence always gets the same verdict. The order in which
/// evidence wins is one table, kRulings in judge.cpp. Evidence that is missing never passes.
Judgement judge(const Evidence& evidence, const Demands& demands);

/// The next run that the verdict needs; none if all is known. The rows of the same table say what
/// they rest on.
std::optional<NextRun> plan(const Evidence& evidence, const Demands& demands);

/// What to tell of a finding and a race. A barrier that not all threads reach is the cause of what
/// it does not order; what says more about a wrong index than two threads at one element stays.
Finding cause_of(const Finding& found, const Race& race);

}  // namespace convlab::grader
