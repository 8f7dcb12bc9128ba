#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>

#include "common/network/preset.hpp"
#include "common/result/result.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/custom_submission.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/build.hpp"
#include "grader/course/counted_stage.hpp"
#include "grader/course/course.hpp"
#include "grader/course/notebook.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/puzzles.hpp"
#include "grader/course/sources.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/explain/explain.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::explain_command {

namespace {

// The stage to explain: the named one, or the only one that has passed.
// @throws Error that says what to do first
Progress passed_stage(const CountedOptions& options, const Chapter& chapter) {
  const std::string& id = chapter.milestone.id;
  const auto passed = [](const Progress& each) {
    return each.state == State::kPassed && !each.changed;
  };
  std::vector<Progress> found;
  std::vector<std::string> known;
  for (const Progress& each : chapter.stages) {
    known.push_back(each.stage.id);
    if (options.stage.empty() ? passed(each) : each.stage.id == options.stage) {
      found.push_back(each);
    }
  }
  if (found.empty() && !options.stage.empty()) {
    throw UsageError(unknown_stage(chapter.milestone, options.stage, known));
  }
  if (found.size() > 1) {
    throw UsageError("Several stages of " + id +
                     " have passed; add --stage and a name (build/bin/grader list shows them).");
  }
  const Progress& stage = found.empty() ? chapter.stages.front() : found.front();
  if (passed(stage)) return stage;
  throw Error(ExitCode::kFallsShort,
              "explain shows what a file that has passed does, and " + stage.stage.id +
                  (stage.changed ? " has changed since its check" : " has not passed") +
                  ". Next: " + grader_command("check", id, known.size() > 1 ? stage.stage.id : ""));
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

// An empty line skips a question; the end of the input skips all that are left.
void hold_quiz(const std::vector<Question>& questions) {
  if (questions.empty()) return;
  std::cout << "\n" << coloured("Quiz", Colour::kStrong) << "\n";
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Question& question = questions[i];
    print_question(question, i + 1, questions.size());
    for (;;) {
      std::cout << "  your answer (" << what_is_asked(question)
                << ", Enter to go on): " << std::flush;
      std::string line;
      std::getline(std::cin, line);
      if (::isatty(STDIN_FILENO) == 0) std::cout << line << "\n";
      if (line.find_first_not_of(" \t") == std::string::npos) break;
      if (const auto right = is_right(question, line)) {
        print_feedback(question, *right);
        break;
      }
      std::cout << "  That is not " << what_is_asked(question) << ".\n";
    }
  }
}

ExitCode explain_device_stage(const CourseMilestone& milestone, const CountedOptions& options,
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
    const std::string predicted = three_digits(slip->second.loads);
    std::cout << paragraph("        ", predicted == three_digits(counted.loads)
                                           ? "You predicted these loads."
                                           : "You predicted " + predicted +
                                                 " loads. What explains the difference? Keep your "
                                                 "sentence: build/bin/grader answer " +
                                                 milestone.id + " " + id + " \"…\"");
  }
  hold_quiz(questions_of(stage.counts, stage.sources));
  return ExitCode::kPassed;
}

ExitCode run(const CountedOptions& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  require_solution(options.solution);
  const bool is_students = options.solution == "student";
  Progress progress{.stage = {.id = options.stage}};
  if (is_students) progress = passed_stage(options, chapter_of(milestone));
  const bool is_file = is_source_file(options.solution);
  const SubmittedSources submitted =
      is_file ? sources_of(options.solution, milestone.id == "m1")
              : sources_of_stage(milestone, options.solution, progress.stage.id);
  if (is_file) {
    progress.stage.title = "a file with the course's interface";
  } else if (!is_students) {
    StageInfo& stage = progress.stage;
    stage.title = title_of(submitted.sources.front(), stage.id);
    const auto check = results_folder() / (milestone.id + "-reference.json");
    if (std::filesystem::exists(check)) progress.check = read_check_result(check);
  }
  Counted counted;
  const std::string& id = progress.stage.id;  // empty: of a file with one stage
  std::cout << hanging(id.empty() ? "" : coloured(id, Colour::kStrong) + "  ",
                       static_cast<int>(id.empty() ? 0 : id.size() + 2),
                       progress.stage.title + ", " + display_path(submitted.sources.front()));
  if (milestone.id == "m1") {
    const auto layers = load_preset(options.network).conv_shapes(1);
    std::cout << walk_text(progress.check, progress.stage.id, layers);
    hold_quiz(questions_of(layers));
  } else if (const ExitCode code =
                 explain_device_stage(milestone, options, progress.stage.id, submitted, counted);
             code != ExitCode::kPassed) {
    return code;
  }
  // Predictions are of the last convolution.
  if (is_students && options.layer == 0) {
    Notebook notebook = read_notebook(milestone);
    notebook.explained[id] = counted;
    note_number(notebook, counted.loads, "loads for each multiply-add of " + id, utc_now());
    note_number(notebook, counted.inputs, "loads of each input of " + id, utc_now());
    write_notebook(milestone, notebook);
  }
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_view(app, exit_code, "explain", run);
  add_counted_options(command, options);
  command.get_option("--stage")->description("The stage, if several have passed");
  command.footer(
      "Builds the file once more so that the emulated device counts its loads and\n"
      "stores. No GPU is needed, and no time is measured.\n\n"
      "Examples:\n"
      "  build/bin/grader explain m2\n"
      "  build/bin/grader explain m4 --stage fused-gemm --layer 1");
}

}  // namespace convlab::grader::explain_command
