#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>

#include "common/base/unknown_name.hpp"
#include "common/network/preset.hpp"
#include "common/result/result.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/counted_stage.hpp"
#include "grader/course/build.hpp"
#include "grader/course/course.hpp"
#include "grader/course/notebook.hpp"
#include "grader/course/progress.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/explain/quiz.hpp"
#include "grader/report/explain/walk.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::explain_command {

namespace {

struct Options {
  std::string milestone;
  std::string stage;
  std::string network = kDefaultPreset;
  std::string solution = "student";
  std::vector<std::string> answers;
  int layer = 0;
};

std::string check_command(const std::string& milestone, const Progress& progress, bool many) {
  return "build/bin/grader check " + milestone + (many ? " --stage " + progress.stage.id : "");
}

// The stage to explain: the named one, or the only one that has passed.
// @throws Error that says what to do first
Progress passed_stage(const Options& options, const Chapter& chapter) {
  const std::string& id = chapter.milestone.id;
  if (!chapter.problem.empty()) {
    throw Error(ExitCode::kFallsShort, "There is nothing to explain in " + id + " yet (" +
                                           chapter.problem + "). Next: build/bin/grader check " +
                                           id);
  }
  std::vector<Progress> found;
  std::vector<std::string> known;
  std::string passed;
  for (const Progress& each : chapter.stages) {
    known.push_back(each.stage.id);
    const bool is_passed = each.state == State::kPassed && !each.changed;
    if (is_passed) passed += (passed.empty() ? "" : ", ") + each.stage.id;
    if (options.stage.empty() ? is_passed : each.stage.id == options.stage) found.push_back(each);
  }
  const bool many = chapter.stages.size() > 1;
  if (found.empty() && !options.stage.empty()) {
    throw UsageError(unknown_name("stage", options.stage, known, " in " + id));
  }
  if (found.empty()) {
    throw Error(ExitCode::kFallsShort, "explain shows what a file that has passed does, and " + id +
                                           " has not passed yet. Next: " +
                                           check_command(id, chapter.stages.front(), many));
  }
  if (found.size() > 1) {
    throw UsageError("Several stages of " + id + " have passed; add --stage and one of: " + passed +
                     ".");
  }
  const Progress& stage = found.front();
  if (stage.state == State::kPassed && !stage.changed) return stage;
  const std::string why = stage.changed && stage.state == State::kPassed
                              ? "has changed since it passed"
                              : std::string("has not passed (") + to_string(stage.state) + ")";
  throw Error(ExitCode::kFallsShort,
              stage.stage.id + " " + why + ". Next: " + check_command(id, stage, many));
}

void print_question(const Question& question, std::size_t number, std::size_t of) {
  std::cout << "\n"
            << coloured("Question " + std::to_string(number) + " of " + std::to_string(of),
                        Colour::kStrong)
            << "\n"
            << paragraph("  ", question.text);
  if (!question.source.empty()) std::cout << question.source.substr(1) << "\n";
  for (std::size_t i = 0; i < question.choices.size(); ++i) {
    std::cout << paragraph(std::string("  ") + static_cast<char>('a' + i) + ")  ",
                           question.choices[i]);
  }
}

void print_feedback(const Question& question, bool right) {
  std::cout << paragraph(
      "  ", (right ? coloured("Right.", Colour::kGood)
                   : coloured("No, it is " + answer_text(question) + ".", Colour::kBad)) +
                " " + question.why);
}

std::string what_is_asked(const Question& question) {
  if (question.choices.empty()) return "a whole number";
  return std::string("a letter from a to ") + static_cast<char>('a' + question.choices.size() - 1);
}

// Asks in the terminal; an empty line skips a question.
void ask(const Question& question) {
  for (;;) {
    std::cout << "  your answer (" << what_is_asked(question)
              << ", Enter to go on): " << std::flush;
    std::string line;
    if (!std::getline(std::cin, line) || line.find_first_not_of(" \t") == std::string::npos) {
      std::cout << "\n";
      return;
    }
    const auto right = is_right(question, line);
    if (!right) {
      std::cout << "  That is not " << what_is_asked(question) << ".\n";
      continue;
    }
    print_feedback(question, *right);
    return;
  }
}

void hold_quiz(const std::vector<Question>& questions, const Options& options) {
  if (questions.empty()) return;
  if (options.answers.size() > questions.size()) {
    throw UsageError("There are " + std::to_string(questions.size()) + " questions, and " +
                     std::to_string(options.answers.size()) + " answers.");
  }
  const bool talks =
      options.answers.empty() && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  std::cout << "\n" << coloured("Quiz", Colour::kStrong) << "\n";
  for (std::size_t i = 0; i < questions.size(); ++i) {
    print_question(questions[i], i + 1, questions.size());
    if (talks) ask(questions[i]);
    if (i >= options.answers.size()) continue;
    const auto right = is_right(questions[i], options.answers[i]);
    if (!right) {
      throw UsageError("Answer " + std::to_string(i + 1) + ", '" + options.answers[i] +
                       "', is not " + what_is_asked(questions[i]) + ".");
    }
    print_feedback(questions[i], *right);
  }
  if (talks || options.answers.size() == questions.size()) return;
  std::string example;
  for (const Question& question : questions) {
    example += (example.empty() ? "" : ",") + std::string(question.choices.empty() ? "12" : "a");
  }
  std::cout << "\n"
            << paragraph("", "To answer, run the same command with --answers " + example +
                                 " (yours in place of these).");
}

void print_next(const CourseMilestone& milestone, const std::string& text) {
  std::string title = "What comes next";
  for (const CourseMilestone& each : milestones()) {
    if (each.id > milestone.id) {
      title += ": " + each.id + ", " + each.title;
      break;
    }
  }
  std::cout << "\n" << coloured(title, Colour::kStrong) << "\n" << paragraph("  ", text);
}

ExitCode explain_device_stage(const CourseMilestone& milestone, const Options& options,
                              const std::string& id, const SubmittedSources& submitted,
                              Counted& counted) {
  const CountedStage stage = counted_stage(
      {.submitted = submitted, .stage = id, .network = options.network, .layer = options.layer});
  if (stage.finding) {
    std::cout << finding_text(*stage.finding);
    return ExitCode::kFallsShort;
  }
  counted = {.loads = loads_per_product(stage.counts),
             .inputs = loads_per_input(stage.counts, stage.sources)};
  std::cout << walk_text(stage.counts, stage.sources) << "\n"
            << paragraph("In all: ", three_digits(counted.loads) +
                                         " loads for each multiply-add, from global and shared "
                                         "memory; each input is loaded " +
                                         three_digits(counted.inputs) +
                                         " times from global memory.");
  const Notebook notebook = read_notebook(milestone);
  if (const auto slip = notebook.predictions.find(id); slip != notebook.predictions.end()) {
    std::cout << paragraph("        ", "You predicted " + three_digits(slip->second.loads) +
                                           " loads. What explains the difference? Keep your "
                                           "sentence: build/bin/grader answer " +
                                           milestone.id + " " + id + " \"…\"");
  }
  hold_quiz(questions_of(stage.counts, stage.sources), options);
  print_next(milestone, next_text(milestone.id, stage.counts, stage.sources));
  return ExitCode::kPassed;
}

ExitCode run(const Options& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  require_solution(options.solution);
  const bool is_students = options.solution == "student";
  const Chapter chapter = chapter_of(milestone, options.solution);
  Progress progress;
  if (is_students) {
    progress = passed_stage(options, chapter);
  } else {
    for (const Progress& each : chapter.stages) {
      if (options.stage.empty() ? progress.stage.id.empty() : each.stage.id == options.stage) {
        progress = each;
      }
    }
    if (progress.stage.id.empty()) {
      throw UsageError("The reference solutions of " + milestone.id + " have no stage '" +
                       options.stage + "'; build/bin/grader list --reference shows them.");
    }
  }
  const SubmittedSources submitted =
      sources_of_stage(milestone, options.solution, progress.stage.id);
  Counted counted;
  std::cout << coloured(progress.stage.id, Colour::kStrong) << "  " << progress.stage.title << ", "
            << display_path(submitted.sources.front()) << "\n";
  if (milestone.id == "m1") {
    const auto layers = load_preset(options.network).conv_shapes(1);
    std::cout << walk_text(progress.check, progress.stage.id, layers);
    hold_quiz(questions_of(layers), options);
    print_next(milestone, next_text(layers));
  } else if (const ExitCode code =
                 explain_device_stage(milestone, options, progress.stage.id, submitted, counted);
             code != ExitCode::kPassed) {
    return code;
  }
  // Predictions are of the last convolution.
  if (is_students && options.layer == 0) {
    Notebook notebook = read_notebook(milestone);
    const std::string& id = progress.stage.id;
    notebook.explained[id] = counted;
    note_number(notebook, counted.loads, "loads for each multiply-add of " + id, utc_now());
    note_number(notebook, counted.inputs, "loads of each input of " + id, utc_now());
    write_notebook(milestone, notebook);
  }
  if (is_students && has_reference()) {
    std::cout << "\n"
              << paragraph("To compare: ",
                           "build/bin/grader explain " + milestone.id + " --solution reference");
  }
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_command(app, exit_code, "explain",
                                        "Explains a file that has passed, with a short quiz", run);
  command.add_option("MILESTONE", options.milestone, "m1, m2, …")->required();
  command.add_option("--stage", options.stage, "The stage, if several have passed");
  command.add_option("--answers", options.answers, "Answers to the quiz, for scripts: 5,a,1148")
      ->delimiter(',');
  command
      .add_option("--layer", options.layer,
                  "The convolution of the network to count in (default: the last)")
      ->check(CLI::Range(1, 64));
  command.add_option("--network", options.network, "Network preset")->capture_default_str();
  command.add_option("--solution", options.solution, "student, or reference if there is one")
      ->check(CLI::IsMember({"student", "reference"}))
      ->capture_default_str();
  command.footer(
      "Builds the file once more so that the emulated device counts its loads and\n"
      "stores. No GPU is needed, and no time is measured.\n\n"
      "Examples:\n"
      "  build/bin/grader explain m2\n"
      "  build/bin/grader explain m2 --answers 6,1148,144\n"
      "  build/bin/grader explain m4 --stage fused-gemm --layer 1");
}

}  // namespace convlab::grader::explain_command
