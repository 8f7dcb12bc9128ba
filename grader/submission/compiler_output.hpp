#pragma once

#include <string>

namespace convlab::grader {

/// The message in a compiler's output that is the machine's fault, "No space left on device"; empty
/// if the source is at fault.
std::string fault_of_machine(const std::string& output);

/// True if the compiler itself, or a tool beside it, is missing.
bool misses_compiler(const std::string& output);

}  // namespace convlab::grader
