#pragma once

#include <string>

namespace convlab::grader {

/// What the machine is to blame for in a compiler's output, "No space left on device"; empty where
/// it is the source.
std::string fault_of_machine(const std::string& output);

/// True if the compiler itself, or a tool beside it, is missing.
bool misses_compiler(const std::string& output);

}  // namespace convlab::grader
