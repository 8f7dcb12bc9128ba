#include "grader/course/way.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "common/base/run_process.hpp"
#include "common/base/whole_file.hpp"
#include "common/device/gpu_driver.hpp"
#include "common/stage/stage.hpp"
#include "grader/course/progress.hpp"
#include "grader/report/terminal.hpp"
#include "grader/scores/score_rules.hpp"

namespace convlab::grader {

namespace {

/// The stages of a milestone by its points, and how far the student is with each.
struct Stages {
  std::vector<std::string> required{};
  std::optional<ScoreChoice> choice{};
  std::map<std::string, double> points{};
  std::set<std::string> predicted{};  ///< with points for a prediction
  std::map<std::string, Progress> progress{};

  [[nodiscard]] bool passed(const std::string& stage) const {
    const Progress& found = progress.at(stage);
    return is_whole(found) && !found.changed;
  }
  [[nodiscard]] bool begun(const std::string& stage) const {
    return progress.at(stage).state != State::kHandedOut;
  }
};

Stages stages_of(const CourseMilestone& milestone) {
  Stages stages;
  const ScoreRules rules = load_score_rules(milestone.folder);
  const std::vector<Progress> all = progress_of(milestone);
  stages.choice = rules.choice;
  for (const ScoreRule& rule : rules.items) {
    stages.points[rule.stage] += rule.points;
    if (rule.what == ScoreRule::What::kPrediction) stages.predicted.insert(rule.stage);
    const auto own =
        std::ranges::find(all, rule.stage, [](const Progress& each) { return each.stage.id; });
    if (!stages.progress.emplace(rule.stage, *own).second) continue;
    const bool free = rules.choice && std::ranges::find(rules.choice->stages, rule.stage) !=
                                          rules.choice->stages.end();
    if (!free) stages.required.push_back(rule.stage);
  }
  return stages;
}

// The stages that these were made from, without themselves.
std::set<std::string> ancestors_of(const std::set<std::string>& passed) {
  std::set<std::string> known;
  for (const std::string& stage : passed) {
    std::string from = ladder_stage(stage.c_str(), "").baseline;
    while (!from.empty() && known.insert(from).second) {
      from = ladder_stage(from.c_str(), "").baseline;
    }
  }
  return known;
}

// Whether its library cannot be emulated: its file says so.
bool needs_gpu(const CourseMilestone& milestone, const std::string& stage) {
  const auto file = file_of_stage(milestone.folder, stage);
  return file && read_text(*file).find("StageLeftOut") != std::string::npos;
}

// The stages of the student's choice to go on with, the best first: one that was begun, then those
// whose baseline is done. None if those that passed give as many points as count.
std::vector<std::string> proposed(const CourseMilestone& milestone, const Stages& stages,
                                  const std::set<std::string>& done) {
  const bool has_gpu = answering_gpu().has_value();
  std::vector<std::string> begun;
  std::vector<std::string> ready;
  if (!stages.choice) return {};
  double points = 0.0;
  for (const std::string& stage : stages.choice->stages) {
    const std::string baseline = ladder_stage(stage.c_str(), "").baseline;
    const bool waits = stages.progress.contains(baseline) && !done.contains(baseline);
    if (stages.passed(stage)) {
      points += stages.points.at(stage);
    } else if (stages.begun(stage)) {
      begun.push_back(stage);
    } else if (!waits && !done.contains(stage) && (has_gpu || !needs_gpu(milestone, stage))) {
      ready.push_back(stage);
    }
  }
  if (points >= stages.choice->most) return {};
  begun.insert(begun.end(), ready.begin(), ready.end());
  return begun;
}

std::string file_of(const CourseMilestone& milestone, const std::string& stage) {
  return display_path(file_of_stage(milestone.folder, stage).value_or(milestone.folder));
}

Step stage_step(const CourseMilestone& milestone, const Stages& stages, const std::string& stage) {
  const Progress& progress = stages.progress.at(stage);
  const std::string file = file_of(milestone, stage);
  const std::string named = stages.progress.size() > 1 ? stage : "";
  Step step{.milestone = milestone.id,
            .kind = Step::Kind::kStage,
            .name = stage,
            .done = stages.passed(stage),
            .fresh = progress.state == State::kHandedOut,
            .what = stages.progress.size() > 1 ? "the stage " + stage + ". "
                                               : "the exercise of " + milestone.id + ". ",
            .command = grader_command("watch", milestone.id, named)};
  if (!file_of_stage(milestone.folder, stage)) {
    step.what += "Its file is missing; this puts it back as handed out:";
    step.command = grader_command("reset", milestone.id);
  } else if (progress.state == State::kHandedOut) {
    step.what += "Read " + display_path(milestone.folder / "README.md") + ", fill in " + file +
                 "; watch checks it whenever you save.";
  } else if (progress.state == State::kUnchecked || progress.changed) {
    step.what += file + " was not checked as it is now.";
  } else if (progress.state == State::kFailed) {
    step.what += "The last check of " + file + " found " + progress.finding + ".";
    step.else_ = "stuck: " + grader_command("hint", milestone.id, named);
  } else {
    step.tried = true;
    step.what += "It passes with few images. Now the whole check, without --batches.";
    step.command = grader_command("check", milestone.id, named);
  }
  return step;
}

void add_puzzles(const CourseMilestone& milestone, const Stages& stages, const std::string& stage,
                 bool skipped, std::vector<Step>& steps) {
  const SolvedFiles solved = known_solved(milestone);
  const auto files = handout_files(milestone);
  for (const Puzzle& puzzle : puzzles_of(milestone)) {
    const bool is_first = !stages.required.empty() && stage == stages.required.front();
    if (puzzle.before.empty() ? !is_first : puzzle.before != stage) continue;
    const bool is_solved = solved.contains(puzzle.stage);
    const bool is_left_out = !is_solved && (skipped || stages.begun(stage));
    const std::string path = puzzle.file.lexically_relative(course_folder()).generic_string();
    const auto file = std::ranges::find(files, path, &HandoutFile::path);
    steps.push_back({.milestone = milestone.id,
                     .kind = Step::Kind::kPuzzle,
                     .name = puzzle.stage,
                     .done = is_solved || is_left_out,
                     .left_out = is_left_out,
                     .fresh = file != files.end() && is_as_handed_out(*file),
                     .what = "the puzzle " + puzzle.stage + ": " + puzzle.title +
                             (puzzle.title.ends_with('?') ? " A" : ". A") + " few lines in " +
                             display_path(puzzle.file) + ".",
                     .command = grader_command("watch", milestone.id, puzzle.stage),
                     .else_ = "You know this? Begin with " + file_of(milestone, stage) +
                              "; then the puzzles before it are no longer asked for."});
  }
}

void add_practice(const CourseMilestone& milestone, std::vector<Step>& steps) {
  const Notebook notebook = read_notebook(milestone);
  const auto add = [&](const std::string& name, const std::string& what) {
    const auto note = notebook.repairs.find(name);
    steps.push_back({.milestone = milestone.id,
                     .kind = Step::Kind::kRepair,
                     .name = name,
                     .done = note != notebook.repairs.end() && note->second.mended,
                     .what = what,
                     .command = grader_command("check", milestone.id, name)});
  };
  for (const Puzzle& repair : puzzles_of(milestone, "repairs")) {
    add(repair.stage, "find the mistake of a broken kernel, " + repair.stage + ", and mend it.");
  }
  if (puzzles_of(milestone, "detective").empty()) return;
  add("detective",
      "a case for a detective: three right kernels, one of them slow. Which, and why?");
}

void add_questions(const CourseMilestone& milestone, bool skipped, std::vector<Step>& steps) {
  const Notebook notebook = read_notebook(milestone);
  for (const ChapterQuestion& each : chapter_questions(read_text(milestone.folder / "README.md"))) {
    steps.push_back(
        {.milestone = milestone.id,
         .kind = Step::Kind::kQuestion,
         .name = each.number,
         .done = skipped || notebook.answers.contains(each.number),
         .what =
             "question " + each.number + " of the chapter of " + milestone.id + ". " + each.text,
         .command = grader_command("answer", milestone.id) + " " + each.number + " \"…\""});
  }
}

MilestoneWay way_of(const CourseMilestone& milestone, const Stages& stages,
                    const std::set<std::string>& covered) {
  MilestoneWay way{.milestone = milestone};
  std::set<std::string> done = covered;
  std::string passed;
  for (const auto& [stage, progress] : stages.progress) {
    if (!stages.passed(stage)) continue;
    done.insert(stage);
    passed = stage;
  }
  const auto predictions = read_notebook(milestone).predictions;
  std::vector<std::string> order = stages.required;
  const std::vector<std::string> next = proposed(milestone, stages, done);
  if (!next.empty()) order.push_back(next.front());
  // Before stages that are not proposed: they count, and nobody need solve them now.
  for (const auto& [stage, progress] : stages.progress) {
    if (std::ranges::find(order, stage) != order.end()) continue;
    add_puzzles(milestone, stages, stage, true, way.steps);
  }
  for (const std::string& stage : order) {
    add_puzzles(milestone, stages, stage, done.contains(stage), way.steps);
    if (stages.predicted.contains(stage)) {
      way.steps.push_back({.milestone = milestone.id,
                           .kind = Step::Kind::kPrediction,
                           .name = stage,
                           .done = done.contains(stage) || predictions.contains(stage),
                           .what = "a prediction for " + stage +
                                   ", before you write it: what limits it, how many loads it "
                                   "makes. A reasoned one gives a point, right or wrong.",
                           .command = grader_command("predict", milestone.id, stage)});
    }
    Step step = stage_step(milestone, stages, stage);
    step.done = done.contains(stage);
    if (!step.done && !next.empty() && stage == next.front()) {
      step.what += " You choose: stages of your choice count up to " +
                   std::to_string(static_cast<int>(stages.choice->most)) + " points.";
      for (std::size_t i = 1; i < std::min<std::size_t>(next.size(), 4); ++i) {
        step.else_ += (i == 1 ? "or take the stage " : ", ") + next[i];
      }
    } else if (!step.done && stages.choice && step.else_.empty()) {
      step.else_ =
          "In a hurry? A stage that passes counts for the stages it was made from: "
          "per-layer for register-tiled, fused-gemm and im2col-gemm. Their points you "
          "get only for their own files.";
    }
    way.steps.push_back(std::move(step));
  }
  if (!passed.empty() && milestone.id != "m1") {
    const bool many = stages.progress.size() > 1;
    way.steps.push_back(
        {.milestone = milestone.id,
         .kind = Step::Kind::kExplain,
         .name = passed,
         .done = !read_notebook(milestone).explained.empty(),
         .what = "a look at what your kernel does: what each line loads, and which threads have "
                 "nothing to do.",
         .command = grader_command("explain", milestone.id, many ? passed : "")});
  }
  add_practice(milestone, way.steps);
  add_questions(milestone, passed.empty() && std::ranges::all_of(way.steps, &Step::done),
                way.steps);
  return way;
}

}  // namespace

std::vector<MilestoneWay> way_through() {
  std::vector<std::pair<CourseMilestone, Stages>> all;
  std::set<std::string> passed;
  for (const CourseMilestone& milestone : milestones()) {
    all.emplace_back(milestone, stages_of(milestone));
    for (const auto& [stage, progress] : all.back().second.progress) {
      if (all.back().second.passed(stage)) passed.insert(stage);
    }
  }
  const std::set<std::string> covered = ancestors_of(passed);
  std::vector<MilestoneWay> way;
  for (const auto& [milestone, stages] : all) {
    // The first stage of m1 has the same id, but no kernel was made from it.
    way.push_back(way_of(milestone, stages, milestone.id == "m1" ? decltype(covered){} : covered));
  }
  return way;
}

std::optional<Step> next_step(const std::vector<MilestoneWay>& way, bool work) {
  for (const MilestoneWay& milestone : way) {
    for (const Step& step : milestone.steps) {
      const bool is_work = step.kind == Step::Kind::kPuzzle || step.kind == Step::Kind::kStage;
      const bool is_practice = step.kind == Step::Kind::kRepair;
      if (!step.done && !is_practice && (is_work || !work)) return step;
    }
  }
  return std::nullopt;
}

std::optional<Step> next_practice(const std::vector<MilestoneWay>& way,
                                  const std::string& milestone) {
  const auto own =
      std::ranges::find(way, milestone, [](const MilestoneWay& each) { return each.milestone.id; });
  if (own == way.end()) return std::nullopt;
  const bool begun = std::ranges::any_of(own->steps, [](const Step& step) {
    return step.kind == Step::Kind::kStage && (step.done || !step.fresh);
  });
  const auto next = std::ranges::find_if(
      own->steps, [](const Step& step) { return step.kind == Step::Kind::kRepair && !step.done; });
  if (!begun || next == own->steps.end()) return std::nullopt;
  return *next;
}

std::string lead_text(const Step& step) {
  std::string text = paragraph("Next: ", step.what) + "        " + step.command + "\n";
  if (!step.else_.empty()) text += paragraph("      ", step.else_);
  return text;
}

std::vector<ChapterQuestion> chapter_questions(const std::string& chapter) {
  std::vector<ChapterQuestion> questions;
  std::istringstream lines(chapter);
  bool in_section = false;
  bool open = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) in_section = line.ends_with("Questions");
    if (!in_section) continue;
    // "3. [count] Why?" or "**3. [count]** Why?", up to an empty line, an answer or the next one.
    std::erase(line, '*');
    std::ranges::replace(line, '`', '\'');
    const auto dot = line.find_first_not_of("0123456789");
    if (dot != 0 && line.compare(std::min(dot, line.size()), 3, ". [") == 0) {
      const auto end = line.find("] ");
      questions.push_back({line.substr(0, dot), line.substr(dot + 3, end - dot - 3), ""});
      line = line.substr(std::min(line.size(), end + 2));
      open = true;
    }
    open = open && !line.empty() && !line.starts_with("<");
    if (!open) continue;
    std::string& text = questions.back().text;
    text +=
        (text.empty() ? "" : " ") + line.substr(std::min(line.size(), line.find_first_not_of(' ')));
  }
  return questions;
}

}  // namespace convlab::grader
