#include <CLI/CLI.hpp>
#include <iostream>
#include <new>

#include "common/error/error.hpp"
#include "grader/cli/commands.hpp"

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  build/bin/grader check m1                      your first milestone\n"
    "  build/bin/grader check m1 --batches 100        the same, quickly\n"
    "  build/bin/grader hint m1                       the next hint\n"
    "  build/bin/grader plot build/results/*.json --output build/plots\n\n"
    "Exit codes: 0 passed, 1 the work falls short, 2 usage, 3 the environment is at fault.";

}  // namespace

int main(int argc, char** argv) {
  using convlab::ExitCode;
  CLI::App app("Checks the milestones of the workbook and shows the results.", "grader");
  app.require_subcommand(1);
  app.footer(kExamples);
  ExitCode exit_code = ExitCode::kPassed;
  convlab::grader::add_check(app, exit_code);
  convlab::grader::add_list(app, exit_code);
  convlab::grader::add_hint(app, exit_code);
  convlab::grader::add_plot(app, exit_code);
  convlab::grader::add_doctor(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help() << "\n";
  } catch (const CLI::ParseError& error) {
    std::cerr << "grader: " << error.what() << "\nSee grader --help.\n";
    exit_code = ExitCode::kUsage;
  } catch (const convlab::Error& error) {
    std::cout.flush();
    std::cerr << "grader: " << error.what() << "\n";
    exit_code = error.exit_code();
  } catch (const std::bad_alloc&) {
    std::cerr << "grader: There is not enough memory; take a smaller batch.\n";
    exit_code = ExitCode::kEnvironment;
  }
  return static_cast<int>(exit_code);
}
