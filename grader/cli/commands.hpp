#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "common/base/error.hpp"

namespace convlab::grader {

/// A new command, and its options for the caller to declare. If the command line names it, `run`
/// gets the options after parsing and returns the exit code. Errors are thrown.
template <class Options>
std::pair<CLI::App&, Options&> add_command(CLI::App& parent, ExitCode& exit_code,
                                           const std::string& name, const std::string& purpose,
                                           ExitCode (*run)(const Options&)) {
  CLI::App* command = parent.add_subcommand(name, purpose);
  auto options = std::make_shared<Options>();
  command->callback([options, run, &exit_code] { exit_code = run(*options); });
  return {*command, *options};
}

/// The option --launcher of a command that may run as a Slurm job (grader/course/slurm_job.hpp).
inline void add_launcher(CLI::App& command, std::string& launcher) {
  command
      .add_option("--launcher", launcher,
                  "local, or slurm: as a job on a machine of the cluster with a GPU")
      ->check(CLI::IsMember({"local", "slurm"}))
      ->capture_default_str();
}

/// The command `class` with its subcommands. A grader that was built without SQLite or libarchive
/// has it, too, and says what is missing.
void add_class(CLI::App& app, ExitCode& exit_code);

/// Commands of `class` for the rules of a term, comments and revocations.
namespace term_commands {
void add(CLI::App& group, ExitCode& exit_code);
}

// Each command has its own namespace, because several commands are compiled as one file.

// clang-format off
namespace next_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace predict_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace profile_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace show_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace answer_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace restore_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace check_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace watch_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace list_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace hint_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace reset_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace submit_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace doctor_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace explain_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace job_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace handout_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace lint_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace compare_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace report_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace plot_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace sweep_command { void add(CLI::App& app, ExitCode& exit_code); }
// clang-format on

}  // namespace convlab::grader
