#pragma once

#include <string>

#include "common/base/conv_shape.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/submission/submission.hpp"
#include "reference/oracle/comparison.hpp"

namespace convlab::grader {

/// What is known about a wrong output.
struct WrongOutput {
  ConvShape shape;
  Arrays arrays;  ///< of the submission, unchanged since the call
  oracle::Tolerance tolerance;
  oracle::ErrorReport report;
  bool is_whole = false;  ///< whole numbers: then a sum comes out right whatever is rounded
};

/// Whether every element lies within 2 % of the sum of absolute products: a matter of rounding, as
/// long as nothing else is known.
bool is_nearly_right(const WrongOutput& wrong);

/// E-precision.
Finding lost_precision(const WrongOutput& wrong, const std::string& where);

/// What the output alone tells: it is unwritten, holds NaN, is nearly right, or is wrong.
///
/// @param where  what was computed: "case 'stride 2' (B=1 …)"
Finding diagnose(const WrongOutput& wrong, const std::string& where);

/// "120 of 300 elements are wrong. The first: image b=0, map m=1, row h=2, column w=3: expected
/// 1.5, got 0.25."
std::string describe(const ConvShape& shape, const oracle::ErrorReport& report);

/// "image b=1, map m=0, row h=2, column w=3", or "element 3" where all outputs are one row.
std::string place_of(const ConvShape& shape, const oracle::Mismatch& element);

}  // namespace convlab::grader
