#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "grader/judge/judge.hpp"

namespace convlab::grader {

using Found = std::optional<Finding>;

/// Whether something was found and findings.txt says that it is of this kind.
bool is(const Found& found, const char* kind);

/// What is told where a run has given no answer: that never passes.
Finding no_answer(Experiment experiment, Mode mode);

/// What the usual experiments of one mode say, in the class in which they ended: the cases,
/// behaviour, leaks and the network.
struct UsualChecks {
  Precision precision = Precision::kFp32;
  std::optional<NextRun> next{};  ///< none: they have ended
  Found found{};
  std::vector<Finding> warnings{};
  std::set<std::string> wrong_cases{};
  bool takes_all = false;
};

UsualChecks read_usual_checks(const Evidence& evidence, const Demands& demands, Mode mode);

}  // namespace convlab::grader
