#pragma once

#include <CLI/CLI.hpp>

#include "common/error/error.hpp"

namespace convlab::grader {

// Each command declares its options; when it was named on the command line it runs after parsing
// and leaves its exit code. What goes wrong is thrown.

void add_check(CLI::App& app, ExitCode& exit_code);
void add_watch(CLI::App& app, ExitCode& exit_code);
void add_list(CLI::App& app, ExitCode& exit_code);
void add_hint(CLI::App& app, ExitCode& exit_code);
void add_reset(CLI::App& app, ExitCode& exit_code);
void add_submit(CLI::App& app, ExitCode& exit_code);
void add_doctor(CLI::App& app, ExitCode& exit_code);
void add_explain(CLI::App& app, ExitCode& exit_code);
void add_handout(CLI::App& app, ExitCode& exit_code);
void add_lint(CLI::App& app, ExitCode& exit_code);
void add_compare(CLI::App& app, ExitCode& exit_code);
void add_report(CLI::App& app, ExitCode& exit_code);
void add_plot(CLI::App& app, ExitCode& exit_code);
void add_sweep(CLI::App& app, ExitCode& exit_code);

}  // namespace convlab::grader
