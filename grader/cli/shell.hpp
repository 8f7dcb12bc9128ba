#pragma once

#include <string>

namespace convlab::grader {

struct ShellOutput {
  int exit_code = 0;  ///< as a shell reports it: 127 where there is no such program
  std::string text;   ///< without newlines at its end
};

/// Runs a command line and waits for it; what it prints to standard output is in `text`.
/// @throws EnvironmentError if no process can be started
ShellOutput run_shell(const std::string& command);

}  // namespace convlab::grader
