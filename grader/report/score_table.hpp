#pragma once

#include <string>

#include "grader/checks/result/score.hpp"

namespace convlab::grader {

/// The table of points, a line or a few per item, with the sum and what was not measured.
std::string score_table(const Score& score);

/// "12", "12.5".
std::string points_text(double points);

}  // namespace convlab::grader
