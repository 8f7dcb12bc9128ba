#pragma once

#include <functional>
#include <string>
#include <vector>

#include "grader/submission/build_errors.hpp"

namespace convlab::grader {

/// A small change of a file that may end an error of the compiler.
struct BuildMend {
  std::string words{};  ///< "with `;` at the end of line 30"
  std::string text{};   ///< the whole file with it
  int line = 0;         ///< which it changes
};

/// The changes that are worth a try, the likeliest first; at most eight: what the compiler
/// proposes, the bracket or semicolon that it expects, a header that has the unknown name, a brace
/// by the indentation, and the slips that CUDA invites.
/// @param text  the file of the error
std::vector<BuildMend> build_mends(const BuildError& error, const std::string& text);

}  // namespace convlab::grader
