#pragma once

#include <string>

#include "common/serve/source_text.hpp"
#include "grader/checks/findings/diagnosis.hpp"

namespace convlab::grader {

/// E-build with the line that the compiler names and, for the most frequent errors of beginners, an
/// explanation.
/// @param error  "conv_forward.cpp:43:2: error: expected '}' at end of input", of GCC, clang or
/// nvcc
Finding compiler_finding(const std::string& error, const SourceText& sources);

}  // namespace convlab::grader
