#pragma once

#include <string>

#include "common/serve/finding_texts.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

using convlab::catalogue;
using convlab::Diagnosis;

/// The finding of this id, or of a variant, "E-crash/heap". @throws std::out_of_range for a name
/// that is not in findings.txt
/// @param seen    what was seen; what a variant says of it follows
/// @param values  for {0}, {1}, … of the variant
Finding finding(const std::string& name, const std::string& seen,
                const std::vector<std::string>& values = {});

/// Whether the time was up: E-timeout or E-slow.
bool is_about_time(const Finding& finding);

/// The finding with these words. @param prefix  where it was: "In case 'stride 2' (…): "
Finding finding(const FaultMessage& message, const std::string& prefix);

/// The finding with the compiler's warnings. A variable without a start value explains any wrong
/// number, so then the finding is E-uninitialised.
Finding with_warnings(Finding found, const std::string& warnings);

/// Explains why there is no output. `where` says what was computed: "case 'stride 2' (B=1 …)".
Finding explain(const Failure& failure, const std::string& where);

/// E-build with the line that the compiler names and, for the most frequent errors of beginners, an
/// explanation.
/// @param error  "conv_forward.cpp:43:2: error: expected '}' at end of input", of GCC, clang or
/// nvcc
Finding compiler_finding(const std::string& error, const SourceText& sources);

}  // namespace convlab::grader
