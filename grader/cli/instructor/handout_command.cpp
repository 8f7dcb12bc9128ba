#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>

#include "common/base/run_process.hpp"
#include "common/base/scratch_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/instructor/handout_contents.hpp"
#include "grader/course/course.hpp"
#include "grader/course/sources.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::handout_command {

namespace {

namespace fs = std::filesystem;

struct Options {
  std::string folder;
  std::string term;
  std::string milestones;
  bool no_build = false;
};

// The files of the tree, as git knows them; sorted.
std::vector<std::string> tracked_files() {
  const FinishedProcess run =
      run_process({.words = {"git", "-C", course_folder().string(), "ls-files", "-z"}});
  if (!run.succeeded()) {
    throw EnvironmentError("A hand-out is made from a git working tree, and " +
                           course_folder().string() + " is none: " + trimmed_end(run.errors));
  }
  std::vector<std::string> files;
  std::istringstream names(run.output);
  for (std::string name; std::getline(names, name, '\0');) files.push_back(name);
  std::ranges::sort(files);
  return files;
}

// The milestones that are handed out. @throws UsageError for one that does not exist
std::set<std::string> wanted_milestones(const std::string& list) {
  std::set<std::string> wanted;
  if (list.empty()) {
    for (const CourseMilestone& each : milestones()) wanted.insert(each.folder.filename());
    return wanted;
  }
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    wanted.insert(find_milestone(name).folder.filename());
  }
  return wanted;
}

// Where a file of this tree lies in a hand-out.
std::string place_of(const std::string& file) {
  const std::string top = "milestones/handout_files/";
  return file.starts_with(top) ? file.substr(top.size()) : file;
}

// "milestones/m2_gpu_baseline/…" belongs to a milestone; other files to all.
bool belongs(const std::string& file, const std::set<std::string>& wanted) {
  const std::string begin = "milestones/";
  const auto end = file.find('/', begin.size());
  if (!file.starts_with(begin) || end == std::string::npos) return true;
  return wanted.count(file.substr(begin.size(), end - begin.size())) > 0;
}

// Configures and builds the first milestone of the hand-out. Its program must say that the exercise
// is still empty.
void try_it(const fs::path& tree, const std::string& milestone) {
  std::cout << "Building " << milestone << " of the hand-out, as a student would" << std::endl;
  const fs::path build = tree / "build";
  const auto run = [&](const std::vector<std::string>& words, const std::string& what) {
    constexpr std::chrono::minutes kLimit{60};
    const FinishedProcess finished = run_process({.words = words,
                                                  .folder = tree,
                                                  .output = Command::Output::kTogether,
                                                  .time_limit = kLimit});
    if (finished.succeeded()) return;
    std::istringstream lines(finished.output);
    std::string last;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("rror") != std::string::npos && last.empty()) last = line;
    }
    throw Error(ExitCode::kFallsShort, "The hand-out does not " + what + ": " + last);
  };
  run({"cmake", "--preset", "lab", "-DCMAKE_BUILD_TYPE=Debug", "-DCONVLAB_BENCHMARKS=OFF",
       "-DCONVLAB_GPU=OFF"},
      "configure");
  run({"cmake", "--build", "--preset", "lab", "--target", milestone}, "build");
  const FinishedProcess started = run_process(
      {.words = {(build / "bin" / milestone).string(), "1"}, .output = Command::Output::kTogether});
  if (started.exit_code != static_cast<int>(ExitCode::kFallsShort)) {
    throw Error(ExitCode::kFallsShort, milestone + " of the hand-out ended with " +
                                           std::to_string(started.exit_code) +
                                           " instead of saying that nothing is in it yet.");
  }
  fs::remove_all(build);
}

// grader reset can restore only files that are handed out.
std::string manifest_of(const std::set<std::string>& wanted) {
  std::istringstream lines(read_text(course_folder() / "milestones" / "handout.sha256"));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find("milestones/");
    if (at == std::string::npos || belongs(line.substr(at), wanted)) text += line + "\n";
  }
  return text;
}

ExitCode run(const Options& options) {
  if (options.term.empty() ||
      options.term.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                     "0123456789-") != std::string::npos) {
    throw UsageError("A term consists of letters, digits and '-', such as SP27.");
  }
  const std::set<std::string> wanted = wanted_milestones(options.milestones);
  const std::vector<std::string> files = tracked_files();
  const HandoutList list = HandoutList::read(course_folder() / "milestones/handout.list");
  const std::string name = "convlab-" + options.term;
  const fs::path parent = fs::absolute(options.folder);
  const fs::path tree = parent / name;
  if (fs::exists(tree)) {
    throw UsageError(display_path(tree) + " exists already; remove it, or name another folder.");
  }
  fs::create_directories(parent);
  // Under another name until it is complete and checked.
  const ScratchFolder scratch(parent);
  const fs::path half = scratch.path() / name;
  int count = 0;
  for (const std::string& file : files) {
    const fs::path from = course_folder() / file;
    const std::string place = place_of(file);
    if (!list.names(file) || !belongs(place, wanted) || !fs::is_regular_file(from)) continue;
    fs::create_directories((half / place).parent_path());
    fs::copy_file(from, half / place, fs::copy_options::overwrite_existing);
    if (file.ends_with(".md")) {
      write_atomically(half / place, page_for_students(read_text(from)));
    }
    ++count;
  }
  write_atomically(half / "milestones" / "handout.sha256", manifest_of(wanted));
  const auto refuse = [](const std::vector<std::string>& problems, const std::string& why) {
    for (const std::string& problem : problems) std::cout << paragraph("- ", problem);
    if (problems.empty()) return;
    throw Error(ExitCode::kFallsShort, "No hand-out was made: " + why + ", see above.");
  };
  refuse(answers_in(half, course_folder() / "reference/solutions", list),
         "it would contain answers");
  // A chapter may name another one that is not handed out.
  if (options.milestones.empty()) refuse(broken_links(half), "links would lead nowhere");
  if (!options.no_build) try_it(half, wanted.begin()->substr(0, wanted.begin()->find('_')));
  const auto bytes = packed(scratch.path(), name);
  write_atomically(parent / (name + ".tar.gz"), bytes);
  fs::rename(half, tree);
  std::cout << count << " files\n"
            << display_path(tree) << "\n"
            << display_path(parent / (name + ".tar.gz")) << "\n";
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  CLI::App* group = app.add_subcommand("handout", "For instructors: makes a hand-out");
  group->require_subcommand(1);
  group->footer("Example:\n  build/bin/grader handout make out --term SP27");
  auto [command, options] = add_command(*group, exit_code, "make",
                                        "Copies the files that students need, and packs them", run);
  command.add_option("OUT", options.folder, "Folder for convlab-TERM and convlab-TERM.tar.gz")
      ->required();
  command.add_option("--term", options.term, "Such as SP27")->required();
  command.add_option("--milestones", options.milestones, "Only these: m1,m2 (default: all)");
  command.add_flag("--no-build", options.no_build, "Do not build the first milestone to try it");
  command.footer(
      "milestones/handout.list names the files. Searches them for answers and broken\n"
      "links before it writes anything, builds the hand-out as a student would, and\n"
      "packs it; the same tree gives the same bytes.\n\n"
      "Example:\n  build/bin/grader handout make out --term SP27");
}

}  // namespace convlab::grader::handout_command
