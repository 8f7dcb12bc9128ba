#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "common/result/result.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/hints.hpp"
#include "grader/course/notebook.hpp"
#include "grader/course/puzzles.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::hint_command {

namespace {

struct Options {
  std::string milestone;
  std::string stage;
  bool again = false;
};

/// The finding of the last check, as long as it is the same.
struct LastFinding {
  Finding finding{};
  int times = 0;  ///< in how many of the last checks, one after the other
};

LastFinding last_finding(const std::string& milestone, const std::string& stage) {
  LastFinding last;
  for (const HistoryEntry& entry : read_history(history_file())) {
    const bool is_of_stage =
        stage.empty() || std::ranges::find(entry.stages, stage) != entry.stages.end();
    if (entry.milestone != milestone || !is_of_stage) continue;
    const auto found = std::ranges::find_if(
        entry.findings, [&](const Finding& each) { return stage.empty() || each.stage == stage; });
    if (found == entry.findings.end()) {
      last = {};
    } else {
      last.times = found->id == last.finding.id ? last.times + 1 : 1;
      last.finding = *found;
    }
  }
  return last;
}

// The number of the last hint of a list that was read; 0: none.
int last_read(const Notebook& notebook, const std::string& list, const std::string& stage) {
  int last = 0;
  for (const ShownHint& each : notebook.hints) {
    if (each.list == list && each.stage == stage) last = std::max(last, each.number);
  }
  return last;
}

// Notes which hint was read, before it is shown. grader submit packs the notes, so that the
// instructor sees which hints help.
void note_hint(const CourseMilestone& milestone, Notebook& notebook, const Options& options,
               const std::string& list, int number, const std::string& finding) {
  notebook.hints.push_back({.shown = utc_now(),
                            .list = list,
                            .number = number,
                            .finding = finding,
                            .stage = options.stage});
  write_notebook(milestone, notebook);
}

// The next hint for the finding of the last check: one more for each check that found it, after
// three the smallest case. False if there is none that was not shown.
bool hint_for_finding(const CourseMilestone& milestone, Notebook& notebook, const Options& options,
                      const LastFinding& last) {
  constexpr int kOften = 3;
  const int before = last_read(notebook, last.finding.id, options.stage);
  if (last.times <= before) return false;
  const Hints all = read_hints(course_folder() / "milestones" / "finding_hints.json");
  const auto own = all.find(last.finding.id);
  const auto hints = own == all.end() ? std::vector<std::string>{} : own->second;
  const std::string smallest = last.times >= kOften ? last.finding.seen : "";
  const auto next = static_cast<std::size_t>(before);
  if (next >= hints.size() && smallest.empty()) return false;
  // The smallest case follows the last hint of the list.
  note_hint(milestone, notebook, options, last.finding.id,
            next < hints.size() ? before + 1 : last.times, last.finding.id);
  std::cout << hanging(
      coloured(last.finding.id + "  ", Colour::kStrong),
      static_cast<int>(last.finding.id.size()) + 2,
      last.finding.title +
          (last.times == 1 ? "" : ", in " + std::to_string(last.times) + " checks"));
  if (next < hints.size()) std::cout << paragraph("  ", hints[next]);
  if (!smallest.empty()) {
    const bool on_cpu = options.milestone == "m1";
    std::cout << lines_text("  ", smallest)
              << paragraph("  ", std::string("Compute one of its elements by hand, and let ") +
                                     (on_cpu ? "your function" : "the thread that stores it") +
                                     " print each product.");
    if (!on_cpu) {
      std::cout << paragraph("  ", "To see a block of your kernel step by step: " +
                                       grader_command("show", options.milestone, options.stage));
    }
  }
  return true;
}

ExitCode run(const Options& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  if (!options.stage.empty()) require_stage(milestone, options.stage);
  const Hints all = read_hints(milestone.folder / "hints.json");
  Notebook notebook = read_notebook(milestone);
  const LastFinding last = last_finding(milestone.id, options.stage);
  if (!options.again && hint_for_finding(milestone, notebook, options, last)) {
    return ExitCode::kPassed;
  }
  if (is_repair(milestone, options.stage)) {
    std::cout << paragraph("", "The hints for " + options.stage +
                                   " are about what its last check found after you named the "
                                   "cause. Next: " +
                                   grader_command("check", milestone.id, options.stage));
    return ExitCode::kPassed;
  }
  const bool is_general = options.stage.empty();
  const std::string list = milestone.id + (is_general ? "" : "/" + options.stage);
  const std::vector<std::string>& hints = hints_of(all, milestone.id, options.stage);
  const int size = static_cast<int>(hints.size());
  const int read = std::min(last_read(notebook, list, options.stage), size);
  const int shown = options.again ? read : std::min(read + 1, size);
  if (shown > read) note_hint(milestone, notebook, options, list, shown, last.finding.id);
  for (int i = options.again ? 0 : shown - 1; i < shown; ++i) {
    std::cout << coloured("Hint " + std::to_string(i + 1) + " of " + std::to_string(size),
                          Colour::kStrong)
              << "\n"
              << paragraph("  ", hints[static_cast<std::size_t>(i)]);
  }
  if (options.again && shown == 0) std::cout << "You have not asked for a hint yet.\n";
  if (!options.again && read == size) {
    std::cout << "That was the last hint. Read the chapter again, or ask your instructor.\n";
  }
  if (is_general && shown == size && all.size() > 1) {
    std::cout << "Each stage has hints of its own: build/bin/grader hint " << milestone.id
              << " --stage NAME\n";
  }
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] =
      add_command(app, exit_code, "hint", "Shows one more hint each time", run);
  command.add_option("MILESTONE", options.milestone, "m1, m2, …")->required();
  command.add_option("--stage", options.stage, "The hints for this stage");
  command.add_flag("--again", options.again, "Show the hints so far, and no new one");
  command.footer(
      "If the last check found something, the first hints are about that: one more for\n"
      "each check that found it again. grader submit packs which hints you read: your\n"
      "instructor sees which ones help; no point depends on it.\n\n"
      "Examples:\n  build/bin/grader hint m1\n  build/bin/grader hint m4 --stage register-tiled");
}

}  // namespace convlab::grader::hint_command
