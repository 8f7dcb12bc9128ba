#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>

#include "common/base/run_process.hpp"
#include "common/base/scratch_folder.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/gzip.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/progress.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/terminal.hpp"
#include "grader/submission/sandbox/child_process.hpp"

namespace convlab::grader::work_commands {

namespace {

namespace fs = std::filesystem;

/// A file's path from the root of the tree, and its text.
using PathAndText = std::pair<std::string, std::string>;

// Writes all backups before it replaces the first file: a disk may become full between them. What
// is as handed out needs none.
void put_back(const CourseMilestone& milestone, const std::vector<PathAndText>& files) {
  const auto handed_out = handout_files(milestone);
  for (const auto& [path, text] : files) {
    const fs::path place = course_folder() / path;
    const auto known = std::ranges::find(handed_out, path, &HandoutFile::path);
    if (!fs::exists(place) || (known != handed_out.end() && is_as_handed_out(*known))) continue;
    std::cout << "Yours is now\n  " << display_path(keep_backup(place)) << "\n";
  }
  for (const auto& [path, text] : files) write_atomically(course_folder() / path, text);
}

bool agreed(std::size_t count) {
  std::cout << "Put " << (count == 1 ? "it" : "them")
            << " back as handed out? A backup is kept. [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (::isatty(STDIN_FILENO) == 0) std::cout << "\n";
  return answer == "y" || answer == "Y" || answer == "yes";
}

struct ResetOptions {
  std::string milestone;
  bool yes = false;
};

ExitCode run_reset(const ResetOptions& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  std::vector<PathAndText> changed;
  for (const HandoutFile& file : handout_files(milestone)) {
    if (is_as_handed_out(file)) continue;
    const std::optional<std::string> text = pristine_text(file);
    if (!text) {
      throw EnvironmentError("There is no copy of " + file.path + " as handed out in " +
                             display_path(build_folder() / "pristine") +
                             "; unpack the hand-out once more and take it from there.");
    }
    changed.emplace_back(file.path, *text);
  }
  if (changed.empty()) {
    std::cout << "Every file of " << milestone.id << " is as it was handed out.\n";
    return ExitCode::kPassed;
  }
  for (const auto& [path, text] : changed) {
    const bool there = fs::exists(course_folder() / path);
    std::cout << path << (there ? " has been changed.\n" : " is missing.\n");
  }
  if (!options.yes && !agreed(changed.size())) {
    std::cout << "Nothing was changed.\n";
    return ExitCode::kPassed;
  }
  put_back(milestone, changed);
  std::cout << "Build and check again: build/bin/grader check " << milestone.id << "\n";
  return ExitCode::kPassed;
}

// As sha256sum writes it, so that sha256sum --check reads it.
std::string manifest_text(const fs::path& folder, const std::vector<SourceFile>& sources) {
  std::vector<std::string> words = {"sha256sum", "--", "result.json"};
  for (const char* state : {"history.jsonl", "notebook.json"}) {
    if (fs::exists(folder / state)) words.emplace_back(state);
  }
  for (const SourceFile& source : sources) words.push_back(source.path);
  const FinishedProcess run = run_process({.words = words, .folder = folder});
  if (!run.succeeded()) throw EnvironmentError("No manifest: " + trimmed_end(run.errors) + ".");
  return run.output;
}

struct SubmitOptions {
  std::string milestone, output;
};

ExitCode run_submit(const SubmitOptions& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  const auto sources = describe_files(source_files(milestone));
  CheckResult check = combined_result(milestone);
  check.sources = sources;

  const ScratchFolder scratch(build_folder());
  const std::string name = milestone.id + "-submission";
  const auto folder = scratch.path() / name;
  for (const SourceFile& source : sources) {
    write_atomically(folder / source.path, read_text(course_folder() / source.path));
  }
  write_atomically(folder / "result.json", to_json(check));
  // So that grader restore continues where the student is.
  if (fs::exists(notebook_file(milestone))) {
    write_atomically(folder / "notebook.json", read_text(notebook_file(milestone)));
  }
  if (const std::string lines = history_of(history_file(), milestone.id); !lines.empty()) {
    write_atomically(folder / "history.jsonl", lines);
  }
  write_atomically(folder / "MANIFEST.sha256", manifest_text(folder, sources));

  const fs::path archive = options.output.empty()
                               ? build_folder() / "submissions" / (name + ".tar.gz")
                               : fs::path(options.output);
  const std::vector<std::uint8_t> bytes = packed(scratch.path(), name);
  write_atomically(archive, std::string(bytes.begin(), bytes.end()));

  const bool passed = check.result.verdict == Verdict::kPassed;
  const auto handed_out = handout_files(milestone);
  std::size_t untouched = 0;
  for (const SourceFile& source : sources) {
    const auto own = std::ranges::find(handed_out, source.path, &HandoutFile::path);
    const bool is_own = own == handed_out.end() || own->sha256 != source.sha256;
    untouched += is_own ? 0 : 1;
    if (is_own) std::cout << "  " << source.path << "\n";
  }
  if (untouched > 0) std::cout << "  and " << count_of(untouched, "file") << " as handed out\n";
  std::cout << "  with the result of " << check.result.created << ": "
            << (passed ? "passed" : "not passed");
  if (check.score) {
    std::cout << ", " << points_text(check.score->earned()) << " of "
              << count_of(points_text(check.score->counted()), "point");
  }
  std::cout << "\n";
  const std::string untried = passed ? untried_text(check) : "";
  if (!untried.empty()) std::cout << paragraph("  ", untried);
  std::cout << display_path(archive) << "\n"
            << paragraph("Next: ", (passed && untried.empty()
                                        ? "hand this file in."
                                        : grader_command("check", milestone.id) +
                                              (passed ? " is the whole check. Check"
                                                      : " says what is wrong. Mend it, check") +
                                              ", submit again; or hand this file in as it is.") +
                                       " Your instructor's grader checks it again; tar -tzf lists "
                                       "what is in it.");
  return ExitCode::kPassed;
}

// Somebody else may have packed it, so a sandbox reads it. @return what it printed, if it failed
std::optional<std::string> failure(const fs::path& folder, const std::vector<std::string>& words) {
  ChildProcess process(
      "/usr/bin/env", words,
      {.policy = {.kind = SandboxKind::kCompiler, .cpu_seconds = 20}, .folder = folder});
  const Ending ending = process.wait(std::chrono::seconds(30));
  if (ending.kind == Ending::Kind::kExited && ending.code == 0) return std::nullopt;
  return process.output_tail();
}

// The folder m2-submission in what was unpacked.
// @throws UsageError if this is no archive of grader submit, or a file in it was changed
fs::path unpacked(const fs::path& archive, const fs::path& to) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  write_atomically(to / "tar", gunzip(read_bytes(archive, kMost), kMost, display_path(archive)));
  const auto tar = failure(to, {"tar", "--extract", "--no-same-owner", "--file=tar"});
  std::string why;  // what tar says is no help
  for (const auto& entry : fs::recursive_directory_iterator(to)) {
    if (entry.is_symlink() || !(entry.is_regular_file() || entry.is_directory())) {
      throw UsageError(display_path(archive) +
                       " holds a link or a device; only files belong in it.");
    }
  }
  for (const auto& entry : fs::directory_iterator(to)) {
    if (tar || !entry.path().filename().string().ends_with("-submission")) continue;
    const auto sums = failure(entry.path(), {"sha256sum", "--check", "--quiet", "MANIFEST.sha256"});
    if (!sums) return entry.path();
    why = trimmed_end(*sums);
  }
  throw UsageError(display_path(archive) + " is no whole archive of grader submit" +
                   (why.empty() ? "." : ": " + why));
}

struct RestoreOptions {
  std::string archive;
};

ExitCode run_restore(const RestoreOptions& options) {
  const ScratchFolder scratch(build_folder());
  const fs::path folder = unpacked(options.archive, scratch.path());
  const std::string name = folder.filename().string();
  const CourseMilestone milestone = find_milestone(name.substr(0, name.find('-')));
  const CheckResult check = read_check_result(folder / "result.json");
  CourseMilestone packed = milestone;
  packed.folder = folder / "milestones" / milestone.folder.filename();
  std::vector<PathAndText> changed;
  for (const fs::path& file : source_files(packed)) {
    const std::string path = file.lexically_relative(folder).generic_string();
    const std::string text = read_text(file);
    if (fs::exists(course_folder() / path) && read_text(course_folder() / path) == text) continue;
    std::cout << "  " << path << "\n";
    changed.emplace_back(path, text);
  }
  put_back(milestone, changed);
  write_check_result(results_folder() / (milestone.id + "-student.json"), check);
  if (fs::exists(folder / "notebook.json")) {
    write_atomically(notebook_file(milestone), read_text(folder / "notebook.json"));
  }
  if (fs::exists(folder / "history.jsonl")) {
    keep_history(history_file(), read_text(folder / "history.jsonl"));
  }
  std::cout << paragraph("", milestone.id + " is as it was on " + check.result.created +
                                 ". Next: build/bin/grader next");
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  {
    auto [command, options] = add_command(app, exit_code, "reset", run_reset);
    command.add_option("MILESTONE", options.milestone)->required();
    command.add_flag("--yes", options.yes);
  }
  {
    auto [command, options] = add_command(app, exit_code, "submit", run_submit);
    command.add_option("MILESTONE", options.milestone)->required();
    command.add_option("--output", options.output);
  }
  auto [command, options] = add_command(app, exit_code, "restore", run_restore);
  command.add_option("ARCHIVE", options.archive)->required()->check(CLI::ExistingFile);
}

}  // namespace convlab::grader::work_commands
