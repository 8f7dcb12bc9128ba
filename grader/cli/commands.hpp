#pragma once

#include <CLI/CLI.hpp>

#include "common/error/error.hpp"

namespace convlab::grader {

// Each command declares its options. If the command line names it, it runs after parsing and sets
// the exit code. Errors are thrown. Each has its own namespace, because several commands are
// compiled as one file.

// clang-format off
namespace check_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace watch_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace list_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace hint_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace reset_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace submit_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace doctor_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace explain_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace handout_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace lint_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace compare_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace report_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace plot_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace sweep_command { void add(CLI::App& app, ExitCode& exit_code); }
// clang-format on

}  // namespace convlab::grader
