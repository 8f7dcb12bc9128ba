#pragma once

#include <CLI/CLI.hpp>

#include "common/error/error.hpp"

namespace convlab::grader {

/// The command `class` with its subcommands. A grader that was built without SQLite or libarchive
/// has it, too, and says what is missing. docs/class.md
void add_class(CLI::App& app, ExitCode& exit_code);

}  // namespace convlab::grader
