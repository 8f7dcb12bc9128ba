#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "common/base/run_process.hpp"
#include "common/base/text.hpp"
#include "common/program/arguments.hpp"
#include "common/result/result.hpp"
#include "common/serve/finding_texts.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/course.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/puzzles.hpp"
#include "grader/course/way.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::progress_commands {

namespace {

using std::chrono::milliseconds;

// "puzzles 2 of 3, stages 1 of 1, questions 0 of 6".
std::string counts_text(const MilestoneWay& way) {
  const auto is_done = [](const Step& step) {
    return (step.done && !step.left_out) || step.kind == Step::Kind::kRepair;
  };
  if (std::ranges::all_of(way.steps, is_done)) return coloured("done", Colour::kGood);
  std::string text;
  for (const auto& [kind, name] : {std::pair{Step::Kind::kPuzzle, "puzzles"},
                                   {Step::Kind::kPrediction, "predictions"},
                                   {Step::Kind::kStage, "stages"},
                                   {Step::Kind::kExplain, "explained"},
                                   {Step::Kind::kRepair, "practice"},
                                   {Step::Kind::kQuestion, "questions"}}) {
    const auto all = std::ranges::count(way.steps, kind, &Step::kind);
    const auto done = std::ranges::count_if(way.steps, [wanted = kind](const Step& step) {
      return step.kind == wanted && step.done && !step.left_out;
    });
    if (all == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(done) + " of " +
            std::to_string(all);
  }
  return text;
}

ExitCode run_next(const NoOptions&) {
  const std::vector<MilestoneWay> way = way_through();
  for (const MilestoneWay& milestone : way) {
    std::cout << coloured(milestone.milestone.id, Colour::kStrong) << "  "
              << milestone.milestone.title << "\n"
              << paragraph("    ", counts_text(milestone));
  }
  std::cout << "\n";
  const auto step = next_step(way);
  if (!step) {
    std::cout << paragraph("", "You have come to the end: every milestone is done. " +
                                   coloured("Congratulations!", Colour::kGood) +
                                   " What is left: a report of each (build/bin/grader report m4), "
                                   "and the archives (build/bin/grader submit m4).");
    return ExitCode::kPassed;
  }
  std::cout << lead_text(*step);
  const auto work = next_step(way, true);
  if (work && work->kind != step->kind && work->command != step->command) {
    std::cout << paragraph("Or go on with ", work->what) << "        " << work->command << "\n";
    if (!work->else_.empty()) std::cout << paragraph("      ", work->else_);
  }
  if (const auto practice = next_practice(way, (work ? *work : *step).milestone)) {
    std::cout << paragraph("", "For practice, without points: " + practice->what) << "        "
              << practice->command << "\n";
  }
  return ExitCode::kPassed;
}

std::string state_text(const Progress& progress) {
  std::string text = to_string(progress.state);
  if (progress.state == State::kHandedOut || progress.state == State::kUnchecked) {
    return coloured(text, Colour::kQuiet);
  }
  const bool passed = progress.state == State::kPassed;
  text = coloured(text, passed ? Colour::kGood : Colour::kBad);
  if (!progress.finding.empty()) text += " (" + progress.finding + ")";
  if (passed && !progress.batches.empty())
    text += " at batch " +
            joined(progress.batches, ", ", [](int each) { return std::to_string(each); });
  text += coloured("  " + progress.date, Colour::kQuiet);
  if (progress.changed) text += "  changed since";
  return text;
}

ExitCode run_list(const NoOptions&) {
  constexpr int kStageWidth = 27;
  int passed = 0;
  int tried = 0;
  int all = 0;
  for (const CourseMilestone& milestone : milestones()) {
    std::cout << coloured(milestone.id, Colour::kStrong) << "  " << milestone.title << "\n";
    for (const Progress& progress : progress_of(milestone)) {
      const std::string& title = progress.stage.title;
      std::cout << "    " << left(progress.stage.id, title.empty() ? 0 : kStageWidth) << title
                << "\n"
                << left("", 4 + kStageWidth) << state_text(progress) << "\n";
      ++all;
      if (progress.state != State::kPassed || progress.changed) continue;
      ++(is_whole(progress) ? passed : tried);
    }
  }
  std::cout << "\n" << passed << " of " << count_of(all, "stage") << " passed\n";
  if (tried > 0) {
    std::cout << paragraph("", std::to_string(tried) +
                                   (tried == 1 ? " more passes" : " more pass") +
                                   " at small batches only; for a whole check leave out "
                                   "--batches.");
  }
  return ExitCode::kPassed;
}

struct HintOptions {
  std::string milestone, stage;
  bool again = false;
};

/// Shows the hints of one milestone, of a stage if one is named, and notes which were read: grader
/// submit packs the notes, so that the instructor sees which hints help.
class HintCommand {
 public:
  explicit HintCommand(const HintOptions& options)
      : options_(options),
        milestone_(find_milestone(options.milestone)),
        notebook_(read_notebook(milestone_)) {
    if (!options.stage.empty()) require_stage(milestone_, options.stage);
    for (const HistoryEntry& entry : read_history(history_file())) {
      const bool is_of_stage = options.stage.empty() ||
                               std::ranges::find(entry.stages, options.stage) != entry.stages.end();
      if (entry.milestone != milestone_.id || !is_of_stage) continue;
      const auto found = std::ranges::find_if(entry.findings, [&](const Finding& each) {
        return options.stage.empty() || each.stage == options.stage;
      });
      const Finding now = found == entry.findings.end() ? Finding{} : *found;
      times_ = now.id == last_.id ? times_ + 1 : 1;
      last_ = now;
    }
  }

  void run() {
    if (!options_.again && !last_.id.empty() && show_for_finding()) return;
    if (is_repair(milestone_, options_.stage)) {
      std::cout << paragraph("", "The hints for " + options_.stage +
                                     " are about what its last check found after you named the "
                                     "cause. Next: " +
                                     grader_command("check", milestone_.id, options_.stage));
      return;
    }
    show_of_list();
  }

 private:
  // The number of the last hint of a list that was read; 0: none.
  [[nodiscard]] int last_read(const std::string& list) const {
    int last = 0;
    for (const ShownHint& each : notebook_.hints) {
      if (each.list == list && each.stage == options_.stage) last = std::max(last, each.number);
    }
    return last;
  }

  void note(const std::string& list, int number) {
    notebook_.hints.push_back({.shown = utc_now(),
                               .list = list,
                               .number = number,
                               .finding = last_.id,
                               .stage = options_.stage});
    write_notebook(milestone_, notebook_);
  }

  // The next hint for the finding of the last check: one more for each check that found it, after
  // three the smallest case. False if there is none that was not shown.
  bool show_for_finding() {
    constexpr int kOften = 3;
    const int before = last_read(last_.id);
    if (times_ <= before) return false;
    auto all = read_hints(course_folder() / "milestones" / "finding_hints.json");
    // Where there are no kernels, no hint speaks of them.
    const auto own = all.find(milestone_.id + " " + last_.id);
    auto hints = own == all.end() ? all[last_.id] : own->second;
    // The line is known since the check: then the kind of the change, and at last the change.
    if (!last_.mends.empty()) {
      hints.insert(hints.begin(), mend_lines_text(last_) + " " + mend_kind_text(last_));
      hints.push_back(mend_change_text(last_));
    }
    const std::string smallest = times_ >= kOften ? last_.seen.text() : "";
    const bool has_next = before < std::ssize(hints);
    if (!has_next && smallest.empty()) return false;
    note(last_.id, has_next ? before + 1 : times_);  // the smallest case follows the last hint
    std::cout << hanging(coloured(last_.id + "  ", Colour::kStrong),
                         static_cast<int>(last_.id.size()) + 2,
                         last_.title + (times_ == 1 ? "" : ", in " + count_of(times_, "check")));
    if (has_next)
      std::cout << lines_text(
          "  ", with_milestone(hints[static_cast<std::size_t>(before)], milestone_.id));
    if (smallest.empty()) return true;
    const bool on_cpu = milestone_.id == "m1";
    std::cout << lines_text("  ", smallest)
              << paragraph("  ", std::string("Compute one of its elements by hand, and let ") +
                                     (on_cpu ? "your function" : "the thread that stores it") +
                                     " print each product.");
    if (!on_cpu) {
      std::cout << paragraph("  ", "To see a block of your kernel step by step: " +
                                       grader_command("show", milestone_.id, options_.stage));
    }
    return true;
  }

  void show_of_list() {
    const bool is_general = options_.stage.empty();
    const Hints all = read_hints(milestone_.folder / "hints.json");
    const auto own = all.find(is_general ? "general" : options_.stage);
    if (own == all.end()) {
      throw UsageError(options_.stage + " has no hints of its own; ask without --stage: " +
                       grader_command("hint", milestone_.id));
    }
    const std::string list = milestone_.id + (is_general ? "" : "/" + options_.stage);
    const int size = static_cast<int>(own->second.size());
    const int read = std::min(last_read(list), size);
    const int shown = options_.again ? read : std::min(read + 1, size);
    if (shown > read) note(list, shown);
    for (int i = options_.again ? 0 : shown - 1; i < shown; ++i) {
      std::cout << coloured("Hint " + std::to_string(i + 1) + " of " + std::to_string(size),
                            Colour::kStrong)
                << "\n"
                << paragraph("  ", own->second[static_cast<std::size_t>(i)]);
    }
    if (options_.again && shown == 0) std::cout << "You have not asked for a hint yet.\n";
    if (!options_.again && read == size) {
      std::cout << "That was the last hint. Read the chapter again, or ask your instructor.\n";
    }
    if (is_general && shown == size && all.size() > 1) {
      std::cout << "Each stage has hints of its own: build/bin/grader hint " << milestone_.id
                << " --stage NAME\n";
    }
  }

  const HintOptions& options_;
  CourseMilestone milestone_;
  Notebook notebook_;
  Finding last_{};  // of the last check
  int times_ = 0;   // in how many of the last checks, one after the other
};

ExitCode run_hint(const HintOptions& options) {
  HintCommand(options).run();
  return ExitCode::kPassed;
}

constexpr milliseconds kLook{200};

/// When each source was last written. This also notices editors that write a new file and rename
/// it.
using Snapshot = std::map<std::filesystem::path, std::filesystem::file_time_type>;

Snapshot snapshot(const CourseMilestone& milestone) {
  Snapshot seen;
  for (const auto& file : source_files(milestone)) {
    std::error_code gone;
    seen[file] = std::filesystem::last_write_time(file, gone);
  }
  return seen;
}

// Returns once the files differ from `old` and no longer change, or when asked to stop.
void wait_for_change(const CourseMilestone& milestone, const Snapshot& old) {
  Snapshot last = snapshot(milestone);
  while (stop_asked == 0) {
    std::this_thread::sleep_for(kLook);
    Snapshot now = snapshot(milestone);
    if (now != old && now == last) return;
    last = std::move(now);
  }
}

struct WatchOptions {
  std::string milestone, stage, batches = "100", format = "text";
  int checks = 0;  ///< for tests: it stops after this many
};

// Runs grader check as a separate process: Ctrl-C ends it at once, even while it compiles, and it
// may be a grader that was just rebuilt. So does a file that is saved: what is checked is old then.
// @param checked  the files when the check begins
// @return whether it came to its end
bool check_once(const CourseMilestone& milestone, const WatchOptions& options,
                const Snapshot& checked) {
  const bool is_for_editor = options.format != "text";
  if (::isatty(STDOUT_FILENO) == 1 && !is_for_editor) std::cout << "\033[2J\033[H";
  std::cout << "Building " << milestone.id << ", " << milestone.title << std::endl;
  std::vector<std::string> words = {build_folder() / "bin" / "grader", "check", milestone.id};
  const auto add = [&](const std::string& value, std::initializer_list<std::string> more) {
    if (!value.empty()) words.insert(words.end(), more);
  };
  add(options.batches, {"--no-speed", "--batches", options.batches});
  add(options.stage, {"--stage", options.stage});
  if (is_for_editor) words.push_back("--format=" + options.format);
  auto looked = std::chrono::steady_clock::now();
  const FinishedProcess run =
      run_process({.words = words, .output = Command::Output::kShown, .interrupted = [&] {
                     if (stop_asked != 0) return true;
                     const auto now = std::chrono::steady_clock::now();
                     if (now - looked < kLook) return false;
                     looked = now;
                     return snapshot(milestone) != checked;
                   }});
  if (run.end == FinishedProcess::End::kInterrupted) {
    if (stop_asked == 0) std::cout << "\nA file was saved: the check begins again." << std::endl;
    return false;
  }
  const bool has_batches = !options.batches.empty() && !find_puzzle(milestone, options.stage);
  if (!run.succeeded() || !has_batches) return true;
  std::cout << "Everything passes at batch " << options.batches
            << ". The whole check: " << grader_command("check", milestone.id, options.stage)
            << "\n";
  return true;
}

ExitCode run_watch(const WatchOptions& asked) {
  // Saving a file cannot correct these.
  if (!asked.milestone.empty()) {
    const CourseMilestone milestone = find_milestone(asked.milestone);
    if (!asked.stage.empty()) require_stage(milestone, asked.stage);
  }
  parse_batches(asked.batches);
  stop_on_signals();
  std::string last;
  Snapshot checked;
  for (int checks = 0; stop_asked == 0;) {
    WatchOptions options = asked;
    bool is_fresh = false;
    if (asked.stage.empty()) {
      std::vector<MilestoneWay> way = way_through();
      const bool is_all = asked.milestone.empty();
      if (!is_all) {
        std::erase_if(way, [&](const auto& each) { return each.milestone.id != asked.milestone; });
        for (Step& step : way.front().steps) step.done = step.done || step.tried;
      }
      const std::optional<Step> step = next_step(way, true);
      if (!step && is_all) break;
      if (is_all) {
        // Not while it can still be made: watch goes on, but says so.
        const std::optional<Step> first = next_step(way);
        if (first->kind == Step::Kind::kPrediction) std::cout << lead_text(*first);
        std::cout << lead_text(*step);
        options.milestone = step->milestone;
        if (step->tried) options.batches.clear();
        is_fresh = step->fresh;
      }
      // The only stage of a milestone needs no name.
      if (step && step->command.find("--stage") != std::string::npos) options.stage = step->name;
    }
    const CourseMilestone milestone = find_milestone(options.milestone);
    const std::string work = options.milestone + " " + options.stage + " " + options.batches;
    // Not after a check: a file may have been saved meanwhile.
    if (is_fresh || work != last) checked = snapshot(milestone);
    if (!is_fresh && work != last) {
      if (!check_once(milestone, options, checked)) {
        std::this_thread::sleep_for(kLook);  // the editor may not have written all of it yet
        continue;
      }
      if (stop_asked != 0 || ++checks == asked.checks) break;
      // What comes next may be something else.
      last = work;
      if (asked.stage.empty()) continue;
    }
    std::cout << coloured("Watching " + display_path(milestone.folder) +
                              ": save to check again, Ctrl-C to end.",
                          Colour::kQuiet)
              << std::endl;
    wait_for_change(milestone, checked);
    last.clear();
  }
  if (stop_asked != 0) std::cout << "\nStopped watching.\n";
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  add_command(app, exit_code, "next", run_next);
  {
    auto [command, options] = add_command(app, exit_code, "watch", run_watch);
    command.add_option("MILESTONE", options.milestone);
    command.add_option("--stage", options.stage);
    command.add_option("--batches", options.batches)->capture_default_str();
    command.add_option("--format", options.format)->check(CLI::IsMember({"text", "gcc", "github"}));
    command.add_option("--checks", options.checks)->group("");
  }
  add_command(app, exit_code, "list", run_list);
  auto [command, options] = add_command(app, exit_code, "hint", run_hint);
  command.add_option("MILESTONE", options.milestone)->required();
  command.add_option("--stage", options.stage);
  command.add_flag("--again", options.again);
}

}  // namespace convlab::grader::progress_commands
