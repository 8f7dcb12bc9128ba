#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "common/command_line/run_program.hpp"
#include "common/error/error.hpp"
#include "grader/class/class_command.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/help_formatter.hpp"

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  build/bin/grader check m1                      your first milestone\n"
    "  build/bin/grader check m1 --batches 100        the same, quickly\n"
    "  build/bin/grader watch m1                      again, whenever you save\n"
    "  build/bin/grader hint m1                       the next hint\n"
    "  build/bin/grader explain m1                    what your file does, and a quiz\n"
    "  build/bin/grader submit m1                     pack what was checked\n"
    "  build/bin/grader plot build/results/*.json --output build/plots\n\n"
    "Exit codes: 0 passed, 1 the work falls short, 2 usage,\n"
    "3 the environment is at fault.";

}  // namespace

int main(int argc, char** argv) {
  using convlab::ExitCode;
  CLI::App app("Checks the milestones of the workbook and shows the results.", "grader");
  app.formatter(std::make_shared<convlab::grader::HelpFormatter>());
  app.require_subcommand(1);
  app.footer(kExamples);
  ExitCode exit_code = ExitCode::kPassed;
  convlab::grader::check_command::add(app, exit_code);
  convlab::grader::watch_command::add(app, exit_code);
  convlab::grader::list_command::add(app, exit_code);
  convlab::grader::hint_command::add(app, exit_code);
  convlab::grader::explain_command::add(app, exit_code);
  convlab::grader::reset_command::add(app, exit_code);
  convlab::grader::submit_command::add(app, exit_code);
  convlab::grader::plot_command::add(app, exit_code);
  convlab::grader::sweep_command::add(app, exit_code);
  convlab::grader::compare_command::add(app, exit_code);
  convlab::grader::report_command::add(app, exit_code);
  convlab::grader::add_class(app, exit_code);
  convlab::grader::handout_command::add(app, exit_code);
  convlab::grader::doctor_command::add(app, exit_code);
  convlab::grader::lint_command::add(app, exit_code);
  app.preparse_callback([&](std::size_t) {
    // CLI11 would only say that a command is missing.
    if (argc < 2 || *argv[1] == '-') return;
    std::string names;
    for (const CLI::App* command : app.get_subcommands({})) {
      if (command->get_name() == argv[1]) return;
      names += (names.empty() ? "" : ", ") + command->get_name();
    }
    throw convlab::UsageError("There is no command '" + std::string(argv[1]) +
                              "'; the commands are: " + names + ".");
  });
  return convlab::run_program(app, argc, argv, [&] { return exit_code; });
}
