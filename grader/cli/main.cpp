#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <type_traits>

#include "common/base/error.hpp"
#include "common/base/run_program.hpp"
#include "common/base/unknown_name.hpp"
#include "grader/checks/edition.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"

using namespace convlab::grader;

namespace {

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

#ifndef CONVLAB_VIEWS
char** own_words = nullptr;

// What can be told at once, before a minute of building.
template <class Options>
void require_sense(const Options& options) {
  if constexpr (requires { options.launcher; }) {
    if (options.launcher != "local") return;
  }
  if constexpr (std::is_same_v<Options, ReportOptions>) {
    if (title_of_course(options.milestone).empty()) find_milestone(options.milestone);
  } else if constexpr (std::is_base_of_v<CountedOptions, Options>) {
    const CourseMilestone milestone = find_milestone(options.milestone);
    require_kernels(milestone.id);
    CountedOptions asked = options;
    if (own_words[1] == std::string("explain") && options.solution == "student") {
      asked.stage = passed_stage(options, milestone);
    }
    counted_work(milestone, asked);
  }
}

// Goes on as grader-views. An update of the hand-out may leave an older one behind.
template <class Options>
convlab::ExitCode become_views(const Options& options) {
  namespace fs = std::filesystem;
  require_sense(options);
  const fs::path views = build_folder() / "bin" / "grader-views";
  const bool is_there = fs::exists(views);
  if (!is_there ||
      fs::last_write_time(views) < fs::last_write_time(fs::read_symlink("/proc/self/exe"))) {
    if (!is_there) {
      std::cerr << "The first use also builds this command: about two minutes of a processor.\n";
    }
    build_own_part("grader-views", !is_there);
    fs::last_write_time(views, fs::file_time_type::clock::now());
  }
  ::execv(views.c_str(), own_words);
  throw convlab::EnvironmentError(views.string() + " cannot be started: " + std::strerror(errno) +
                                  ".");
}

void add_first_uses(CLI::App& app, convlab::ExitCode& exit_code) {
  add_views(app, exit_code,
            {become_views, become_views, become_views, become_views, become_views, become_views,
             become_views});
}
#else
void add_all_views(CLI::App& app, convlab::ExitCode& exit_code) {
  Views views;
  kernel_commands::set(views);
  result_commands::set(views);
  add_views(app, exit_code, views);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  convlab::print_safely();
  // Each start of a student's program begins as a copy of this process. Freed memory goes back to
  // the system, or a check with hundreds of starts spends most of its time on copies of its pages.
  ::mallopt(M_MMAP_THRESHOLD, 256 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 20);
  std::string help = "--help";
  if (argc > 1 && argv[1] == std::string("help")) argv[1] = help.data();
#ifndef CONVLAB_VIEWS
  own_words = argv;
#endif
  using convlab::ExitCode;
  CLI::App app("Checks the milestones of the workbook and shows the results.", "grader");
  app.get_formatter()->column_width(kHelpIndent);
  app.require_subcommand(1);
  app.footer(kExamples);
  ExitCode exit_code = ExitCode::kPassed;
  for (const auto& add : std::vector<std::function<void(CLI::App&, ExitCode&)>>{
#ifdef CONVLAB_VIEWS
           add_all_views,
#else
           progress_commands::add,
           check_command::add,
           notebook_commands::add,
           work_commands::add,
           add_first_uses,
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
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) {
      if (command->get_name() == argv[1]) return;
      names.push_back(command->get_name());
    }
    throw convlab::UsageError(convlab::unknown_name("command", argv[1], names));
  });
  return convlab::run_program(app, argc, argv, [&] { return exit_code; });
}
