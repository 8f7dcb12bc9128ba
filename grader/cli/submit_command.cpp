#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "common/base/run_process.hpp"
#include "common/base/scratch_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/handout.hpp"
#include "grader/course/notebook.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/sources.hpp"
#include "grader/report/score_table.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::submit_command {

namespace {

struct Options {
  std::string milestone;
  std::string output;
};

// As sha256sum writes it, so that sha256sum --check reads it.
std::string manifest_text(const std::filesystem::path& folder,
                          const std::vector<SourceFile>& sources) {
  std::vector<std::string> words = {"sha256sum", "--", "result.json"};
  for (const char* state : {"history.jsonl", "notebook.json"}) {
    if (std::filesystem::exists(folder / state)) words.emplace_back(state);
  }
  for (const SourceFile& source : sources) words.push_back(source.path);
  const FinishedProcess run = run_process({.words = words, .folder = folder});
  if (!run.succeeded()) throw EnvironmentError("No manifest: " + trimmed_end(run.errors) + ".");
  return run.output;
}

ExitCode run(const Options& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  const auto sources = describe_files(source_files(milestone));
  CheckResult check = combined_result(chapter_of(milestone));
  check.sources = sources;

  const ScratchFolder scratch(build_folder());
  const std::string name = milestone.id + "-submission";
  const auto folder = scratch.path() / name;
  for (const SourceFile& source : sources) {
    write_atomically(folder / source.path, read_text(course_folder() / source.path));
  }
  write_atomically(folder / "result.json", to_json(check));
  // So that grader restore continues where the student is.
  if (std::filesystem::exists(notebook_file(milestone))) {
    write_atomically(folder / "notebook.json", read_text(notebook_file(milestone)));
  }
  if (const std::string lines = history_of(history_file(), milestone.id); !lines.empty()) {
    write_atomically(folder / "history.jsonl", lines);
  }
  write_atomically(folder / "MANIFEST.sha256", manifest_text(folder, sources));

  const std::filesystem::path archive = options.output.empty()
                                            ? build_folder() / "submissions" / (name + ".tar.gz")
                                            : std::filesystem::path(options.output);
  const std::vector<std::uint8_t> bytes = packed(scratch.path(), name);
  write_atomically(archive, std::string(bytes.begin(), bytes.end()));

  const auto handed_out = handout_files(milestone);
  std::size_t untouched = 0;
  for (const SourceFile& source : sources) {
    const auto own = std::ranges::find(handed_out, source.path, &HandoutFile::path);
    const bool is_own = own == handed_out.end() || own->sha256 != source.sha256;
    untouched += is_own ? 0 : 1;
    if (is_own) std::cout << "  " << source.path << "\n";
  }
  if (untouched > 0) std::cout << "  and " << untouched << " as handed out\n";
  std::cout << "  with the result of " << check.result.created << ": "
            << (check.result.verdict == Verdict::kPassed ? "passed" : "not passed");
  if (check.score) {
    std::cout << ", " << points_text(check.score->earned()) << " of "
              << points_text(check.score->counted()) << " points";
  }
  std::cout << "\n";
  const bool passed = check.result.verdict == Verdict::kPassed;
  if (const std::string untried = passed ? untried_text(check) : ""; !untried.empty()) {
    std::cout << paragraph("  ", untried);
  }
  std::cout << display_path(archive) << "\n"
            << paragraph("Next: ", (passed ? "hand this file in."
                                           : grader_command("check", milestone.id) +
                                                 " says what is wrong. Mend it, check, submit "
                                                 "again; or hand this file in as it is.") +
                                       " Your instructor's grader checks it again; tar -tzf lists "
                                       "what is in it.");
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] =
      add_command(app, exit_code, "submit", "Packs the checked files into one archive", run);
  command.add_option("MILESTONE", options.milestone, "m1, m2, …")->required();
  command.add_option("--output", options.output,
                     "The archive (default: build/submissions/MILESTONE-submission.tar.gz)");
  command.footer("Example:\n  build/bin/grader submit m1");
}

}  // namespace convlab::grader::submit_command
