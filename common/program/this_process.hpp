#pragma once

#include <string>
#include <vector>

#include "common/device/device_info.hpp"

// What a milestone's program does with its own process: how it ends, and what takes its place.

namespace convlab {

/// Installs handlers: a crash (segmentation fault, division by zero, abort) first prints one
/// sentence that says where the program was and what such a crash usually means. Then the system's
/// default action follows, so that a debugger or a core file still shows the crash.
void explain_crashes();

/// Sets the place that this sentence names. `place` must live until the next call.
void set_crash_place(const char* place);

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

/// Replaces this process by `grader job`, which runs the executable `name` with the same arguments
/// as a Slurm job. @throws EnvironmentError as become_program
[[noreturn]] void become_slurm_job(const std::string& name, char** argv);

}  // namespace convlab
