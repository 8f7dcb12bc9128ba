#include "grader/cli/tree_check.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "common/base/printable.hpp"
#include "common/base/run_process.hpp"
#include "common/base/scratch_folder.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/custom_submission.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/checks/rules.hpp"
#include "grader/course/course.hpp"
#include "grader/course/progress.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/table.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

// What is no work of a student's: as the grading of a class leaves it out.
std::vector<std::string> sources_below(const fs::path& folder) {
  std::vector<std::string> paths;
  auto entry = fs::recursive_directory_iterator(folder);
  for (; entry != fs::recursive_directory_iterator(); ++entry) {
    const std::string name = entry->path().filename().string();
    const bool is_left_out = name.starts_with('.') || name == "__MACOSX" || name == "build";
    if (is_left_out && entry->is_directory()) entry.disable_recursion_pending();
    const std::string ending = entry->path().extension().string();
    const bool is_source = ending == ".cc" || ending == ".cpp" || ending == ".cu";
    if (is_left_out || !is_source || !fs::is_regular_file(entry->symlink_status())) continue;
    paths.push_back(entry->path().lexically_relative(folder).generic_string());
  }
  std::ranges::sort(paths);
  return paths;
}

// An archive is untrusted: the part of the grader that grades a class reads it in its sandbox.
void extract(const fs::path& archive, const fs::path& folder) {
  const FinishedProcess run =
      run_process({.words = {fs::read_symlink("/proc/self/exe").string(), "class", "extract",
                             archive.string(), folder.string()},
                   .output = Command::Output::kTogether});
  if (run.succeeded()) return;
  std::string why = trimmed(printable_line(run.output));
  if (const auto begin = why.find("grader: "); begin == 0) why = why.substr(8);
  throw UsageError(printable_line(archive.string()) + ": " + why);
}

// Goes on in a copy of this process, which Ctrl-C ends at once. This one outlives it, to remove
// what was unpacked. @return how the copy ended; nothing in the copy itself
std::optional<ExitCode> ended_in_copy() {
  std::cout << std::flush;
  const pid_t copy = ::fork();
  if (copy < 0)
    throw EnvironmentError(std::string("Cannot start a process: ") + std::strerror(errno) + ".");
  if (copy == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    return std::nullopt;
  }
  stop_on_signals();
  int status = 0;
  while (::waitpid(copy, &status, 0) < 0 && errno == EINTR) ::kill(copy, SIGTERM);
  return WIFEXITED(status) ? static_cast<ExitCode>(WEXITSTATUS(status)) : ExitCode::kInterrupted;
}

struct Tree {
  Edition edition{};
  std::vector<TaskFile> files{};
  std::string choice{};  ///< why this edition, where others fit as well
};

// The tree's edition: the one that is named, else the one whose files it has.
std::optional<Tree> tree_of(const CheckOptions& options, const std::vector<std::string>& paths) {
  const std::vector<std::string> names = edition_names();
  const bool names_edition = std::ranges::find(names, options.milestone) != names.end();
  std::optional<Edition> edition = parse_rules(options.rules, options.milestone).edition;
  if (names_edition) edition = load_edition(options.milestone);
  const bool asks_for_tree =
      names_edition || options.milestone.empty() || find_task(options.milestone);
  std::vector<std::string> fitting;
  if (!edition && options.rules.empty()) fitting = editions_of(paths);
  if (!fitting.empty()) edition = load_edition(fitting.back());
  if (!edition) return std::nullopt;
  Tree tree{.edition = *edition, .choice = choice_among(fitting)};
  tree.files = tasks_in(*edition, paths);
  // A folder with one source may have any name.
  if (!asks_for_tree && tree.files.size() < 2) return std::nullopt;
  if (tree.files.empty()) {
    std::vector<std::string> wanted;
    for (const EditionTask& task : edition->tasks) wanted.push_back(task.file);
    throw UsageError(printable_line(options.solution) + " holds no file of " + edition->name +
                     ", which asks for " + joined(wanted) + ".");
  }
  if (options.milestone.empty() || options.milestone == edition->name) return tree;
  const auto named = find_task(options.milestone);
  std::erase_if(tree.files, [&](const TaskFile& file) {
    return named ? named->task.name != file.task.name : options.milestone != file.task.milestone;
  });
  if (tree.files.empty()) {
    throw UsageError(printable_line(options.solution) + " holds no file for " + options.milestone +
                     " of " + edition->name + ".");
  }
  return tree;
}

std::string verdict_of(const CheckResult& check) {
  if (check.result.verdict == Verdict::kPassed) {
    return untried_text(check).empty() ? "passed" : "passed so far";
  }
  return check.findings.empty() ? "not passed" : check.findings.front().id;
}

// Tasks without a file, and files without a task.
void print_rest(const CheckOptions& options, const Tree& tree, const fs::path& folder,
                const std::vector<std::string>& paths) {
  const auto& files = tree.files;
  std::vector<std::string> missing;
  for (const EditionTask& task : tree.edition.tasks) {
    const bool is_asked = !task.optional && task.points > 0.0;
    const auto is_its = [&](const TaskFile& file) { return file.task.name == task.name; };
    if (is_asked && std::ranges::none_of(files, is_its)) missing.push_back(task.name);
  }
  const bool is_whole = options.milestone.empty() || options.milestone == tree.edition.name;
  if (is_whole && !missing.empty()) {
    std::cout << paragraph("  ", "No file for " + joined(missing) + ".");
  }
  std::vector<std::string> others;
  for (const std::string& path : paths) {
    const bool is_judged = std::ranges::find(files, path, &TaskFile::path) != files.end();
    if (!is_judged && defines_course_interface(read_text(folder / path))) {
      others.push_back(printable_line(path));
    }
  }
  if (is_whole && !others.empty())
    std::cout << paragraph("  ", "Not judged: " + joined(others) + ".");
}

/// The table of a tree's tasks, and what they sum up to.
class TaskTable {
 public:
  void add(const TaskFile& file, const std::optional<EditionScore>& score,
           const std::string& verdict) {
    std::string points = "-";
    if (score) {
      points =
          (score->counts ? points_text(score->earned) : "-") + "/" + points_text(score->points);
      (file.task.optional ? optional_ : earned_) += score->earned;
    }
    lines_ += "  " + left(file.task.name, 12) + right(points, 9) + "  " + left(verdict, 24) +
              printable_line(file.path) + "\n";
  }

  void print(const Edition& edition) const {
    std::cout << "\n" << left("  task", 14) << right("points", 9) << "  verdict\n" << lines_;
    if (earned_ == 0.0 && optional_ == 0.0) return;
    std::cout << "  " << left("sum", 12) << right(points_text(earned_), 9);
    if (edition.optional_points > 0.0) {
      std::cout << "  and " << points_text(optional_) << " of optional tasks, of which "
                << points_text(edition.optional_points) << " were asked for";
    }
    std::cout << "\n";
  }

 private:
  std::string lines_{};
  double earned_ = 0.0;
  double optional_ = 0.0;
};

// The options for one file of a tree.
CheckOptions options_for(const CheckOptions& options, const Edition& edition, const TaskFile& file,
                         const fs::path& folder) {
  CheckOptions one = options;
  one.milestone = edition.id_of(file.task);
  one.rules.clear();
  one.solution = (folder / file.path).string();
  one.shown = (fs::path(options.solution) / file.path).string();
  const fs::path results = options.json.empty() ? results_folder() : fs::path(options.json);
  one.json = (results / (one.milestone + ".json")).string();
  return one;
}

// Checks one file of a tree, which may fail: the others are still judged.
ExitCode check_file(const CheckOptions& one, ExitCode (*check)(const CheckOptions&),
                    const TaskFile& file, TaskTable& table) {
  std::error_code none;
  fs::remove(one.json, none);
  std::cout << "\n"
            << coloured(one.milestone, Colour::kStrong) << "  " << file.task.title << "  "
            << printable_line(file.path) << "\n";
  std::optional<EditionScore> score;
  std::string verdict;
  ExitCode code = ExitCode::kPassed;
  try {
    code = check(one);
    const CheckResult result = read_check_result(one.json);
    verdict = verdict_of(result);
    score = result.edition;
  } catch (const Error& error) {
    std::cout << paragraph("", error.what());
    verdict = "not judged";  // the sentence stands above
    code = error.exit_code();
  }
  table.add(file, score, verdict);
  return code;
}

}  // namespace

std::optional<ExitCode> check_tree(const CheckOptions& options,
                                   ExitCode (*check)(const CheckOptions&)) {
  std::error_code missing;
  const fs::path given = options.solution;
  const std::string ending = given.extension();
  const bool is_source = ending == ".cu" || ending == ".cpp" || ending == ".cc";
  // A tree that is not there is told before a name that only a tree may have.
  if (!is_source && !fs::exists(given, missing)) static_cast<void>(sources_of(given, true));
  const bool is_archive = fs::is_regular_file(given, missing) && !is_source;
  if (!is_archive && !fs::is_directory(given, missing)) return std::nullopt;
  std::optional<ScratchFolder> unpacked;
  if (is_archive) {
    extract(fs::canonical(given), unpacked.emplace().path());
    if (const auto ended = ended_in_copy()) return ended;
  }
  const fs::path folder = is_archive ? unpacked->path() : given;
  const std::vector<std::string> paths = sources_below(folder);
  const std::optional<Tree> tree = tree_of(options, paths);
  if (!tree) {
    if (!is_archive) return std::nullopt;
    throw UsageError(printable_line(given.string()) +
                     " is no tree of an edition; --rules names the edition, or unpack it.");
  }
  const Edition& edition = tree->edition;
  std::cout << edition.title << " (" << edition.name << "): " << tree->files.size() << " of "
            << edition.tasks.size() << " tasks in " << printable_line(given.string()) << "\n";
  if (!tree->choice.empty()) std::cout << paragraph("", tree->choice);
  auto worst = ExitCode::kPassed;
  TaskTable table;
  for (const TaskFile& file : tree->files) {
    const CheckOptions one = options_for(options, edition, file, folder);
    worst = std::max(worst, check_file(one, check, file, table));
  }
  table.print(edition);
  print_rest(options, *tree, folder, paths);
  return worst;
}

}  // namespace convlab::grader
