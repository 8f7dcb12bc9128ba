#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "common/device/gpu_driver.hpp"
#include "common/result/result.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/puzzles.hpp"
#include "grader/course/way.hpp"
#include "grader/report/terminal.hpp"
#include "grader/scores/score_rules.hpp"

// What students write into their notebook: predictions and answers.

namespace convlab::grader::notebook_commands {

namespace {

// Asks in the terminal until the answer fits; without one the option is required.
std::string asked(const std::string& question, const std::string& option,
                  const std::function<bool(const std::string&)>& fits) {
  if (::isatty(STDIN_FILENO) == 0) {
    throw UsageError("The prediction needs " + option + ": " + question);
  }
  for (std::string line;;) {
    std::cout << paragraph("", question) << "> " << std::flush;
    if (!std::getline(std::cin, line)) throw UsageError("No prediction was made.");
    if (fits(line)) return line;
  }
}

double asked_number(double given, const std::string& question, const std::string& option) {
  if (given >= 0.0) return given;
  const std::string text = asked(question, option, [](const std::string& line) {
    char* end = nullptr;
    return std::strtod(line.c_str(), &end) >= 0.0 && end != line.c_str() && *end == '\0';
  });
  return std::strtod(text.c_str(), nullptr);
}

// The date of the first check that the stage passed, which showed its times; empty if there is
// none.
std::string first_measured(const CourseMilestone& milestone, const std::string& stage) {
  for (const HistoryEntry& entry : read_history(history_file())) {
    if (entry.milestone != milestone.id) continue;
    const bool checked = std::ranges::find(entry.stages, stage) != entry.stages.end();
    const bool failed = std::ranges::any_of(entry.findings, [&](const Finding& each) {
      return each.stage.empty() || each.stage == stage;
    });
    if (checked && !failed) return entry.created;
  }
  return {};
}

// The stage that was named, also one of the student's own; without a name the only one.
std::string stage_of(const CourseMilestone& milestone, const std::string& stage) {
  const std::vector<std::string> known = scored_stages(milestone);
  if (std::ranges::find(known, stage) != known.end()) return stage;
  if (!stage.empty() && is_own_stage(milestone, stage)) return stage;
  if (!stage.empty()) throw UsageError(unknown_stage(milestone, stage, known));
  if (known.size() > 1) throw name_a_stage(milestone);
  return known.front();
}

void print(const Prediction& slip) {
  std::string text = "limit " + slip.limiter;
  const auto add = [&](double value, const char* what) {
    if (value > 0.0) text += ", " + three_digits(value) + what;
  };
  add(slip.loads, " loads for each multiply-add");
  add(slip.inputs, " loads of each input");
  add(slip.op_ms, " ms at 1000 images");
  std::cout << paragraph("  ", text) << paragraph("  because ", slip.reason);
}

struct PredictOptions {
  std::string milestone, stage, limiter, reason;
  double loads = -1.0;
  double inputs = -1.0;
  double op_ms = -1.0;
};

// By questions, unless the options answer them.
Prediction ask_prediction(const CourseMilestone& milestone, const PredictOptions& options) {
  std::vector<std::string> limiters(kLimiters.begin(), kLimiters.end());
  if (milestone.id == "m1") limiters = {"memory", "arithmetic", "latency"};
  const auto is_limit = [&](const std::string& text) {
    return std::ranges::find(limiters, text) != limiters.end();
  };
  Prediction slip{.made = utc_now(), .limiter = options.limiter};
  if (slip.limiter.empty()) {
    slip.limiter = asked("What will limit it? " + joined(limiters), "--limit", is_limit);
  } else if (!is_limit(slip.limiter)) {
    throw UsageError("m1 has no kernel, so " + slip.limiter +
                     " cannot limit it; what can: " + joined(limiters) + ".");
  }
  // Nothing counts the loads of a processor, so nobody is asked for them.
  if (milestone.id != "m1" || options.loads >= 0.0) {
    slip.loads = asked_number(options.loads,
                              "How many loads, from global and shared memory together, does it "
                              "make for each multiply-add of the last convolution?",
                              "--loads");
  }
  if (milestone.id == "m1" || answering_gpu()) {
    slip.op_ms = asked_number(options.op_ms,
                              "What will the op time of all convolutions be at 1000 images, in "
                              "milliseconds?",
                              "--op-ms");
  } else {
    slip.inputs = asked_number(options.inputs,
                               "How often is an element of the input loaded from global memory, on "
                               "average, in the last convolution?",
                               "--inputs");
  }
  slip.reason = options.reason;
  if (!slip.reason.empty() && !is_reasoned(slip.reason)) {
    throw UsageError(
        "A reason is a sentence of eight words or more with a number in it: what you counted, and "
        "from what.");
  }
  if (slip.reason.empty()) {
    slip.reason =
        asked("Why? In a sentence, with a number that you counted.", "--because", is_reasoned);
  }
  return slip;
}

ExitCode run_predict(const PredictOptions& asked_for) {
  PredictOptions options = asked_for;
  const CourseMilestone milestone = find_milestone(options.milestone);
  options.stage = stage_of(milestone, options.stage);
  Notebook notebook = read_notebook(milestone);
  if (const auto known = notebook.predictions.find(options.stage);
      known != notebook.predictions.end()) {
    std::cout << "You predicted on " << known->second.made << ":\n";
    print(known->second);
    return ExitCode::kPassed;
  }
  const std::string measured = first_measured(milestone, options.stage);
  if (!measured.empty() || notebook.explained.contains(options.stage)) {
    throw Error(ExitCode::kFallsShort,
                options.stage + " was measured already" +
                    (measured.empty() ? "" : " on " + measured) +
                    "; a prediction is made before. Predict the next stage.");
  }
  const Prediction slip = ask_prediction(milestone, options);
  notebook.predictions[options.stage] = slip;
  write_notebook(milestone, notebook);
  print(slip);
  std::cout << paragraph("", "Kept. " + grader_command("report", milestone.id) +
                                 " shows it beside what you measure. Next: " +
                                 grader_command("watch", milestone.id, asked_for.stage));
  return ExitCode::kPassed;
}

void print(const ChapterQuestion& question, const Notebook& notebook) {
  std::cout << paragraph("  " + question.number + ".  ",
                         "[" + question.needs + "] " + question.text);
  const auto answer = notebook.answers.find(question.number);
  if (answer != notebook.answers.end()) std::cout << paragraph("      Yours: ", answer->second);
}

struct AnswerOptions {
  std::string milestone, question;
  std::vector<std::string> words;
};

ExitCode run_answer(const AnswerOptions& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  Notebook notebook = read_notebook(milestone);
  const auto questions = chapter_questions(read_text(milestone.folder / "README.md"));
  if (options.question.empty()) {
    for (const ChapterQuestion& each : questions) print(each, notebook);
    return ExitCode::kPassed;
  }
  auto all = questions;
  for (const auto& [stage, slip] : notebook.predictions) {
    all.push_back({stage, "measured", "What explains the difference from your prediction?"});
  }
  const auto asked = std::ranges::find(all, options.question, &ChapterQuestion::number);
  if (asked == all.end()) {
    const auto stages = stage_names(milestone);
    if (std::ranges::find(stages, options.question) != stages.end()) {
      throw UsageError("You predicted nothing for " + options.question +
                       ", so there is no difference to explain.");
    }
    std::vector<std::string> known;
    for (const ChapterQuestion& each : all) known.push_back(each.number);
    throw UsageError(unknown_name("question", options.question, known, " in " + milestone.id));
  }
  std::string text;  // also without quotation marks
  for (const std::string& word : options.words) text += (text.empty() ? "" : " ") + word;
  if (text.find_first_not_of(" \t\n") == std::string::npos) {
    print(*asked, notebook);
    return ExitCode::kPassed;
  }
  constexpr std::size_t kLongest = 5000;
  if (text.size() > kLongest) {
    throw UsageError("An answer has at most " + std::to_string(kLongest) + " letters; this has " +
                     std::to_string(text.size()) + ". The rest belongs into the report.");
  }
  notebook.answers[asked->number] = text;
  write_notebook(milestone, notebook);
  std::cout << paragraph("", "Kept: build/bin/grader report " + milestone.id +
                                 " shows it, and the chapter shows ours, if it has one, below the "
                                 "question. Next: build/bin/grader next");
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  {
    auto [command, options] = add_command(app, exit_code, "predict", run_predict);
    command.add_option("MILESTONE", options.milestone)->required();
    command.add_option("--stage", options.stage);
    command.add_option("--limit", options.limiter)
        ->check(CLI::IsMember(std::vector<std::string>(kLimiters.begin(), kLimiters.end())));
    command.add_option("--loads", options.loads)->check(CLI::NonNegativeNumber);
    command.add_option("--op-ms", options.op_ms)->check(CLI::PositiveNumber);
    command.add_option("--inputs", options.inputs)->check(CLI::NonNegativeNumber);
    command.add_option("--because", options.reason);
  }
  auto [command, options] = add_command(app, exit_code, "answer", run_answer);
  command.add_option("MILESTONE", options.milestone)->required();
  command.add_option("QUESTION", options.question);
  command.add_option("TEXT", options.words);
}

}  // namespace convlab::grader::notebook_commands
