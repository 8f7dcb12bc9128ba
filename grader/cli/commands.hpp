#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "grader/course/counted_stage.hpp"

namespace convlab::grader {

struct NoOptions {};

/// A new command, and its options for the caller to declare; describe() gives them their words from
/// help.txt, here or in instructor/. `run` gets the options after parsing.
template <class Options>
std::pair<CLI::App&, Options&> add_command(CLI::App& parent, ExitCode& exit_code,
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

struct ProfileOptions : CountedOptions {
  std::string output, launcher = "local";
  bool prints_json = false;
};
struct ShowOptions : CountedOptions {
  std::string block, kernel, only_case, output;
};
struct PlotOptions {
  std::vector<std::string> files;
  std::string output, batches;
};
struct SweepOptions {
  std::string stage, batches = "100,1000,10000", network = kDefaultPreset;
  std::string solution = "student", device = "auto", launcher = "local";
};
struct CompareOptions {
  std::vector<std::string> files;
  bool by_file = false;
};
struct ReportOptions {
  std::string milestone, output, solution = "student";
  std::vector<std::string> files;
};

/// What runs each command that draws or counts. Nobody needs them on the first day: they are a
/// program of their own, build/bin/grader-views, built when the first of them is used. Both
/// programs know their words, so a wrong use and --help build nothing.
struct Views {
  ExitCode (*explain)(const CountedOptions&) = nullptr;
  ExitCode (*profile)(const ProfileOptions&) = nullptr;
  ExitCode (*show)(const ShowOptions&) = nullptr;
  ExitCode (*plot)(const PlotOptions&) = nullptr;
  ExitCode (*sweep)(const SweepOptions&) = nullptr;
  ExitCode (*compare)(const CompareOptions&) = nullptr;
  ExitCode (*report)(const ReportOptions&) = nullptr;
};
void add_views(CLI::App& app, ExitCode& exit_code, const Views& views);

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
namespace kernel_commands { void set(Views& views); }
namespace result_commands { void set(Views& views); }
namespace machine_commands { void add(CLI::App& app, ExitCode& exit_code); }
namespace handout_command { void add(CLI::App& app, ExitCode& exit_code); }
namespace lint_command { void add(CLI::App& app, ExitCode& exit_code); }
// clang-format on

}  // namespace convlab::grader
