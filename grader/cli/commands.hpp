#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "grader/course/counted_stage.hpp"

namespace convlab::grader {

/// What a command line may say; each command takes some of it. CountedOptions has what most take:
/// milestone, stage, network, solution.
struct Options : CountedOptions {
  std::string batches;
  std::string output;  ///< a file or a folder
  std::vector<std::string> files;
  std::string only_case;
  std::string launcher = "local";
  std::string cause;
  std::string program;
  std::string shown;  ///< how --solution is called in texts; empty: as it was given
  std::string rules;
  std::string precision;
  std::vector<std::string> libraries;
  std::vector<std::string> refused;
  std::string puzzles;
  std::string json;
  std::string times_of;
  std::string format = "text";
  std::string mend = "auto";
  std::uint64_t seed = 0;
  double time_limit_s = 0.0;
  bool no_speed = false;
  bool competition = false;
  bool again = false;
  int checks = 0;  ///< for tests: watch stops after this many
  std::string limiter;
  double loads = -1.0;
  double inputs = -1.0;
  double op_ms = -1.0;
  std::string reason;
  std::string question;
  std::vector<std::string> words;
  bool yes = false;
  std::string block;
  std::string kernel;
  bool prints_json = false;
  std::string device = "auto";
  bool by_file = false;
  std::string term;
  bool update = false;
};

/// A new command, and its options for the caller to declare; describe() gives them their words from
/// help.txt, here or in instructor/. `run` gets the options after parsing.
inline std::pair<CLI::App&, Options&> add_command(CLI::App& parent, ExitCode& exit_code,
                                                  const std::string& name,
                                                  ExitCode (*run)(const Options&)) {
  CLI::App* command = parent.add_subcommand(name);
  auto options = std::make_shared<Options>();
  command->callback([options, run, &exit_code] { exit_code = run(*options); });
  return {*command, *options};
}

/// The option --launcher of a command that may run as a Slurm job (grader/course/slurm_job.hpp).
inline void add_launcher(CLI::App& command, std::string& launcher) {
  command.add_option("--launcher", launcher)
      ->check(CLI::IsMember({"local", "slurm"}))
      ->capture_default_str();
}

/// Gives commands and options the words of both files, before a help is printed, in lines that fit
/// into kColumns behind the column of names.
void describe(CLI::App& app);
inline constexpr int kHelpIndent = 24;

/// What runs each command that draws or counts. Nobody needs them on the first day: they are a
/// program of their own, build/bin/grader-views, built when the first of them is used. Both
/// programs know their words, so a wrong use and --help build nothing.
using ViewRuns = std::map<std::string, ExitCode (*)(const Options&)>;
void add_views(CLI::App& app, ExitCode& exit_code, const ViewRuns& runs);

/// The stage to explain: the named one, or the only one that has passed.
/// @throws Error that says what to do first
std::string passed_stage(const CountedOptions& options, const CourseMilestone& milestone);

/// The command `class` with its subcommands. A grader that was built without SQLite or libarchive
/// has it, too, and says what is missing.
void add_class(CLI::App& app, ExitCode& exit_code);

// Each file of commands has its own namespace, because several are compiled as one.

// clang-format off
namespace check_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace progress_commands { void add(CLI::App& app, ExitCode& exit_code); }
namespace notebook_commands { void add(CLI::App& app, ExitCode& exit_code); }
namespace work_commands { void add(CLI::App& app, ExitCode& exit_code); }
namespace kernel_commands { ViewRuns runs(); }
namespace result_commands { ViewRuns runs(); }
namespace machine_commands { void add(CLI::App& app, ExitCode& exit_code); }
namespace handout_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace lint_command { void add(CLI::App& app, ExitCode& exit_code); }
// clang-format on

}  // namespace convlab::grader
