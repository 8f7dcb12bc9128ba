#pragma once

#include <string>

#include "common/base/tests/support/run_command.hpp"

namespace convlab::grader {

/// What a program printed, both streams in one, and its exit code.
struct ProgramRun {
  int exit_code = -1;
  std::string output;
};

/// Runs `build/…/bin/NAME ARGUMENTS` in the root of the tree; output is no terminal.
inline ProgramRun run_program(const std::string& name, const std::string& arguments,
                              const std::string& environment = "") {
  const testing::CommandResult result =
      testing::run_command("cd '" CONVLAB_SOURCE_DIR "' && " + environment +
                           " '" CONVLAB_BINARY_DIR "/" + name + "' " + arguments + " 2>&1");
  return {.exit_code = result.exit_code, .output = result.out};
}

}  // namespace convlab::grader
