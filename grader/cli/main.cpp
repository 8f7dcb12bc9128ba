#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>

#include "common/base/error.hpp"
#include "common/base/run_program.hpp"
#include "common/base/unknown_name.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"

using namespace convlab::grader;

namespace {

#ifdef CONVLAB_VIEWS
constexpr bool kIsMain = false;
#else
constexpr bool kIsMain = true;
#endif

constexpr const char* kExamples =
    "Examples:\n"
    "  build/bin/grader next                          what to do now\n"
    "  build/bin/grader check m1                      your first milestone\n"
    "  build/bin/grader check m1 --batches 100        the same, quickly\n"
    "  build/bin/grader watch m1                      again, whenever you save\n"
    "  build/bin/grader hint m1                       the next hint\n"
    "  build/bin/grader explain m2                    what your file does\n"
    "  build/bin/grader show m3                       a page of your kernel\n"
    "  build/bin/grader submit m1                     pack what was checked\n"
    "  build/bin/grader plot build/results/*.json --output build/plots\n\n"
    "Exit codes: 0 passed, 1 the work falls short, 2 usage,\n"
    "3 the environment is at fault.";

// Goes on as grader-views. An update of the hand-out may leave an older one behind.
[[noreturn]] void become_views(char** argv) {
  namespace fs = std::filesystem;
  const fs::path views = build_folder() / "bin" / "grader-views";
  const bool is_there = fs::exists(views);
  if (!is_there ||
      fs::last_write_time(views) < fs::last_write_time(fs::read_symlink("/proc/self/exe"))) {
    if (!is_there) std::cerr << "The first use also builds this command: about a minute.\n";
    build_own_part("grader-views", !is_there);
    fs::last_write_time(views, fs::file_time_type::clock::now());
  }
  ::execv(views.c_str(), argv);
  throw convlab::EnvironmentError(views.string() + " cannot be started: " + std::strerror(errno) +
                                  ".");
}

// Their names, for the help.
[[maybe_unused]] void add_views(CLI::App& app, convlab::ExitCode& /*exit_code*/) {
  for (const std::string& name : kViews) app.add_subcommand(name);
}

}  // namespace

int main(int argc, char** argv) {
  convlab::print_safely();
  std::string help = "--help";
  if (argc > 1 && argv[1] == std::string("help")) argv[1] = help.data();
  using convlab::ExitCode;
  CLI::App app("Checks the milestones of the workbook and shows the results.", "grader");
  app.get_formatter()->column_width(kHelpIndent);
  app.require_subcommand(1);
  app.footer(kExamples);
  ExitCode exit_code = ExitCode::kPassed;
  for (const auto& add : std::vector<std::function<void(CLI::App&, ExitCode&)>>{
#ifdef CONVLAB_VIEWS
           kernel_commands::add,
           result_commands::add,
#else
           progress_commands::add,
           check_command::add,
           notebook_commands::add,
           work_commands::add,
           add_views,
           machine_commands::add,
#endif
#ifdef CONVLAB_INSTRUCTOR
           add_class,
           handout_command::add,
           lint_command::add,
#endif
       }) {
    add(app, exit_code);
  }
  if (std::any_of(argv + 1, argv + argc,
                  [](const std::string& word) { return word == "--help" || word == "-h"; })) {
    describe(app);
  }
  app.preparse_callback([&](std::size_t) {
    // CLI11 would only say that a command is missing.
    if (argc < 2) {
      throw convlab::UsageError(
          "A subcommand is missing; build/bin/grader next says what to do now.");
    }
    if (*argv[1] == '-') return;
    const std::set<std::string> of_kernels = {"explain", "profile", "show"};
    for (int i = 2; i < argc && of_kernels.contains(argv[1]); ++i) require_kernels(argv[i]);
    if (kIsMain && kViews.contains(argv[1])) become_views(argv);
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) {
      if (command->get_name() == argv[1]) return;
      names.push_back(command->get_name());
    }
    throw convlab::UsageError(convlab::unknown_name("command", argv[1], names));
  });
  return convlab::run_program(app, argc, argv, [&] { return exit_code; });
}
