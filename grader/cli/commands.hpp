#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/base/error.hpp"
#include "grader/course/counted_stage.hpp"

namespace convlab::grader {

/// Of a command without options.
struct NoOptions {};

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

/// The same for a command whose words stand in help.txt, here or in instructor/, for describe().
template <class Options>
auto add_command(CLI::App& parent, ExitCode& exit_code, const std::string& name,
                 ExitCode (*run)(const Options&)) {
  return add_command(parent, exit_code, name, "", run);
}

/// Gives commands and options the words of both files, before a help is printed.
void describe(CLI::App& app);

/// Commands that draw or count, and what they are for. They are half of the grader's code, and
/// nobody needs them on the first day: they are a program of their own, build/bin/grader-views,
/// which the grader builds when the first of them is used.
inline const std::map<std::string, std::string> kViews = {
    {"compare", "Compares stages, or the same stage in files"},
    {"explain", "Explains what each line of a file that has passed does"},
    {"plot", "Draws op times, speed-ups and a roofline"},
    {"profile", "Counts what each line of a kernel asks of memory; needs no GPU"},
    {"report", "Makes the skeleton of a report: tables, charts, questions"},
    {"show", "Draws what the threads of one block do, step by step; needs no GPU"},
    {"sweep", "Tries all combinations of a stage's parameters"},
};

/// The same for a command of kViews.
template <class Options>
auto add_view(CLI::App& parent, ExitCode& exit_code, const std::string& name,
              ExitCode (*run)(const Options&)) {
  return add_command(parent, exit_code, name, kViews.at(name), run);
}

/// The option --launcher of a command that may run as a Slurm job (grader/course/slurm_job.hpp).
inline void add_launcher(CLI::App& command, std::string& launcher) {
  command
      .add_option("--launcher", launcher,
                  "local, or slurm: as a job on a machine of the cluster with a GPU")
      ->check(CLI::IsMember({"local", "slurm"}))
      ->capture_default_str();
}

/// Options that explain, profile and show have in common.
inline void add_counted_options(CLI::App& command, CountedOptions& options) {
  command.add_option("MILESTONE", options.milestone, "m1, m2, …")->required();
  command.add_option("--stage", options.stage, "The stage, if there are several; or a puzzle");
  command
      .add_option("--solution", options.solution,
                  "student, reference, or a file with the course's interface")
      ->capture_default_str();
  command
      .add_option("--layer", options.layer,
                  "The convolution of the network to look at (default: the last)")
      ->check(CLI::Range(1, 64));
  command.add_option("--network", options.network, "Network preset")->capture_default_str();
}

/// The command `class` with its subcommands. A grader that was built without SQLite or libarchive
/// has it, too, and says what is missing.
void add_class(CLI::App& app, ExitCode& exit_code);

/// Commands of `class` for the rules of a term, comments and revocations.
namespace term_commands {
void add(CLI::App& group, ExitCode& exit_code);
}

/// Options that the commands of `class` share.
struct ClassOptions {
  std::string database;
  std::string milestone;

  /// The file of the class: the one named, or the usual one.
  [[nodiscard]] std::filesystem::path file() const;
  void add_to(CLI::App& command);
};

// Each file of commands has its own namespace, because several are compiled as one.

// clang-format off
namespace check_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace progress_commands { void add(CLI::App& app, ExitCode& exit_code); }
namespace notebook_commands { void add(CLI::App& app, ExitCode& exit_code); }
namespace work_commands { void add(CLI::App& app, ExitCode& exit_code); }
namespace kernel_commands {
void add_explain(CLI::App& app, ExitCode& exit_code);
void add_profile(CLI::App& app, ExitCode& exit_code);
void add_show(CLI::App& app, ExitCode& exit_code);
}
namespace result_commands {
void add_plot(CLI::App& app, ExitCode& exit_code);
void add_compare(CLI::App& app, ExitCode& exit_code);
void add_report(CLI::App& app, ExitCode& exit_code);
void add_sweep(CLI::App& app, ExitCode& exit_code);
}
namespace machine_commands {
void add_doctor(CLI::App& app, ExitCode& exit_code);
void add_job(CLI::App& app, ExitCode& exit_code);
}
namespace handout_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace lint_command { void add(CLI::App& app, ExitCode& exit_code); }
// clang-format on

}  // namespace convlab::grader
