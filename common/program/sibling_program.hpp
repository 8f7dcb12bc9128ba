#pragma once

#include <string>
#include <vector>

#include "common/device/device_info.hpp"

namespace convlab {

/// The name of a milestone's executable: "m2", "m2-emulated", "m2-reference", …
/// Each solution has its own executables, so that a student's program never links an answer.
std::string program_name(const std::string& milestone, const std::string& solution, Device device);

/// True if this build has such an executable beside the running one, and it is another file.
/// (Without a CUDA Toolkit "m2" is a link to "m2-emulated".)
bool has_program(const std::string& name);

/// Replaces this process by the executable `name` beside the running one.
/// @throws EnvironmentError if there is none
[[noreturn]] void become_program(const std::string& name, char** argv);

/// Arguments for execv, without an option and its value.
std::vector<char*> arguments_without(char** argv, const std::string& option);

}  // namespace convlab
