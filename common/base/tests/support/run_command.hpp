#pragma once

#include <string>

#include "common/base/run_process.hpp"

namespace convlab::testing {

struct CommandResult {
  int exit_code = -1;  ///< as a shell reports it: 128 + signal for a killed program
  std::string out;
  std::string err;
};

/// Runs a shell command line as a user would, without a terminal.
inline CommandResult run_command(const std::string& command) {
  const FinishedProcess run = run_process({.words = {"sh", "-c", command}});
  return {.exit_code = run.exit_code, .out = run.output, .err = run.errors};
}

}  // namespace convlab::testing
