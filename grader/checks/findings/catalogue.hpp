#pragma once

#include <string>

#include "common/base/conv_shape.hpp"
#include "common/serve/finding.hpp"
#include "common/serve/finding_texts.hpp"
#include "grader/submission/build_errors.hpp"
#include "grader/submission/submission.hpp"
#include "reference/oracle/comparison.hpp"

namespace convlab::grader {

/// The finding of this id, or of a variant, "E-crash/heap". @throws std::out_of_range if unknown
/// @param seen    what was seen; what a variant says of it follows
/// @param values  for {0}, {1}, … of the variant
Finding finding(const std::string& name, const Seen& seen,
                const std::vector<std::string>& values = {});

/// The same with the usual texts where it has none of its own. @param prefix  where it was: "In
/// case 'stride 2' (…): "
Finding finding(const Finding& message, const Seen& prefix);

/// The finding with the compiler's warnings. A variable without a start value explains any wrong
/// number, so then the finding is E-uninitialised.
Finding with_warnings(Finding found, const std::string& warnings);

/// Explains why there is no output. `where` says what was computed: "case 'stride 2' (B=1 …)".
Finding explain(const Failure& failure, const std::string& where);

/// E-build with the line that the compiler names and, for known errors, an explanation.
Finding compiler_finding(const BuildError& error, const SourceText& sources);

/// What is known about a wrong output.
struct WrongOutput {
  ConvShape shape;
  Arrays arrays;  ///< of the submission, unchanged since the call
  oracle::Tolerance tolerance;
  oracle::ErrorReport report;
  bool is_whole = false;  ///< whole numbers: then a sum comes out right whatever is rounded
};

/// Within 2 % of the sum of absolute products: a matter of rounding, if nothing else is known.
bool is_nearly_right(const WrongOutput& wrong);

/// E-precision.
Finding lost_precision(const WrongOutput& wrong, const std::string& where);

/// What the output alone tells: it is unwritten, holds NaN, is nearly right, or is wrong.
Finding diagnose(const WrongOutput& wrong, const std::string& where);

/// "120 of 300 elements are wrong. The first: image b=0, …: expected 1.5, got 0.25."
std::string describe(const ConvShape& shape, const oracle::ErrorReport& report);

/// "image b=1, map m=0, row h=2, column w=3", or "element 3" where all outputs are one row.
std::string place_of(const ConvShape& shape, const oracle::Mismatch& element);

}  // namespace convlab::grader
