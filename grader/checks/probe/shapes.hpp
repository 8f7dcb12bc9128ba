#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/checks/probe/program.hpp"

namespace convlab::grader::probe {

/// At which shapes a program fails.
struct ShapeStudy {
  ConvShape smallest{};  ///< that fails in the same way; no size can be smaller
  std::string rule{};  ///< it fails exactly if this holds; empty: none that fresh shapes confirmed
  int confirmed = 0;   ///< fresh shapes that the rule predicted
};

/// Shrinks a shape at which the program fails, then compares shapes around it. A rule is kept only
/// if it predicts what the program does at shapes that it was not made from.
/// @return nothing if the program does not fail again, or this shape is too large to be tried often
std::optional<ShapeStudy> study_shapes(Program& program, const ConvShape& failing, bool few_bits);

/// The smallest shape that the study finds.
std::optional<ConvShape> smallest_failing(Program& program, const ConvShape& failing,
                                          bool few_bits);

/// "1,2,1,5,6,3,1": as --case takes it.
std::string case_text(const ConvShape& shape);

}  // namespace convlab::grader::probe
