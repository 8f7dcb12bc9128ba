#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>

#include "common/base/run_process.hpp"
#include "common/base/scratch_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/gzip.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/handout.hpp"
#include "grader/course/notebook.hpp"
#include "grader/course/sources.hpp"
#include "grader/report/terminal.hpp"
#include "grader/submission/sandbox/child_process.hpp"

namespace convlab::grader::restore_command {

namespace {

namespace fs = std::filesystem;

struct Options {
  std::string archive;
};

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

void restore_sources(const fs::path& folder, const CourseMilestone& milestone) {
  const auto handed_out = handout_files(milestone);
  CourseMilestone packed = milestone;
  packed.folder = folder / "milestones" / milestone.folder.filename();
  for (const fs::path& file : source_files(packed)) {
    const std::string path = file.lexically_relative(folder).generic_string();
    const fs::path place = course_folder() / path;
    const std::string text = read_text(file);
    const bool there = fs::exists(place);
    if (there && read_text(place) == text) continue;
    const auto known = std::ranges::find(handed_out, path, &HandoutFile::path);
    if (there && (known == handed_out.end() || !is_as_handed_out(*known))) {
      const auto backup = keep_backup(place);
      std::cout << "Yours is now\n  " << display_path(backup) << "\n";
    }
    write_atomically(place, text);
    std::cout << "  " << path << "\n";
  }
}

ExitCode run(const Options& options) {
  const ScratchFolder scratch(build_folder());
  const fs::path folder = unpacked(options.archive, scratch.path());
  const std::string name = folder.filename().string();
  const CourseMilestone milestone = find_milestone(name.substr(0, name.find('-')));
  const CheckResult check = read_check_result(folder / "result.json");
  restore_sources(folder, milestone);
  write_check_result(results_folder() / (milestone.id + "-student.json"), check);
  if (fs::exists(folder / "notebook.json")) {
    write_atomically(notebook_file(milestone), read_text(folder / "notebook.json"));
  }
  if (fs::exists(folder / "history.jsonl")) {
    keep_history(history_file(), milestone.id, read_text(folder / "history.jsonl"));
  }
  std::cout << paragraph("", milestone.id + " is as it was on " + check.result.created +
                                 ". Next: build/bin/grader next");
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] =
      add_command(app, exit_code, "restore", "Takes files and progress from an archive", run);
  command.add_option("ARCHIVE", options.archive, "What grader submit packed")
      ->required()
      ->check(CLI::ExistingFile);
  command.footer(
      "For a new clone or another machine. A file of yours that differs is kept as a\n"
      "backup.\n\n"
      "Example:\n  build/bin/grader restore m2-submission.tar.gz");
}

}  // namespace convlab::grader::restore_command
