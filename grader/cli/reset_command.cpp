#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "common/base/whole_file.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/handout.hpp"

namespace convlab::grader::reset_command {

namespace {

struct Options {
  std::string milestone;
  bool yes = false;
};

bool agreed(std::size_t count) {
  std::cout << "Put " << (count == 1 ? "it" : "them")
            << " back as handed out? A backup is kept. [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (::isatty(STDIN_FILENO) == 0) std::cout << "\n";
  return answer == "y" || answer == "Y" || answer == "yes";
}

ExitCode run(const Options& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  std::vector<HandoutFile> changed;
  for (const HandoutFile& file : handout_files(milestone)) {
    if (!is_as_handed_out(file)) changed.push_back(file);
  }
  if (changed.empty()) {
    std::cout << "Every file of " << milestone.id << " is as it was handed out.\n";
    return ExitCode::kPassed;
  }
  // Reads all files first, so that nothing is half reset.
  std::vector<std::string> texts;
  for (const HandoutFile& file : changed) {
    const std::optional<std::string> text = pristine_text(file);
    if (!text) {
      throw EnvironmentError("There is no copy of " + file.path + " as handed out in " +
                             display_path(build_folder() / "pristine") +
                             "; unpack the hand-out once more and take it from there.");
    }
    texts.push_back(*text);
    const bool there = std::filesystem::exists(course_folder() / file.path);
    std::cout << file.path << (there ? " has been changed.\n" : " is missing.\n");
  }
  if (!options.yes && !agreed(changed.size())) {
    std::cout << "Nothing was changed.\n";
    return ExitCode::kPassed;
  }
  // Writes all backups before it replaces the first file: a disk may become full between them.
  for (const HandoutFile& each : changed) {
    const auto file = course_folder() / each.path;
    if (!std::filesystem::exists(file)) continue;
    const auto backup = keep_backup(file);
    std::cout << "Yours is now\n  " << display_path(backup) << "\n";
  }
  for (std::size_t i = 0; i < changed.size(); ++i) {
    write_atomically(course_folder() / changed[i].path, texts[i]);
  }
  std::cout << "Build and check again: build/bin/grader check " << milestone.id << "\n";
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] =
      add_command(app, exit_code, "reset", "Restores a milestone's files, and keeps a backup", run);
  command.add_option("MILESTONE", options.milestone, "m1, m2, …")->required();
  command.add_flag("--yes", options.yes, "Do not ask");
  command.footer("Example:\n  build/bin/grader reset m1");
}

}  // namespace convlab::grader::reset_command
