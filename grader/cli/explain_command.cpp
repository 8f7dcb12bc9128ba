#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>

#include "common/network/preset.hpp"
#include "grader/checks/given_file.hpp"
#include "grader/cli/build.hpp"
#include "grader/cli/commands.hpp"
#include "grader/cli/course.hpp"
#include "grader/cli/progress.hpp"
#include "grader/explain/facts.hpp"
#include "grader/explain/quiz.hpp"
#include "grader/explain/walk.hpp"
#include "grader/report/check_report.hpp"
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
  std::string known;
  std::string passed;
  for (const Progress& each : chapter.stages) {
    known += (known.empty() ? "" : ", ") + each.stage.id;
    const bool is_passed = each.state == State::kPassed && !each.changed;
    if (is_passed) passed += (passed.empty() ? "" : ", ") + each.stage.id;
    if (options.stage.empty() ? is_passed : each.stage.id == options.stage) found.push_back(each);
  }
  const bool many = chapter.stages.size() > 1;
  if (found.empty() && !options.stage.empty()) {
    throw UsageError("There is no stage '" + options.stage + "' in " + id +
                     "; there are: " + known + ".");
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

// The file of a stage: the one with its name, or the only one.
std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& stage,
                              const std::string& extension) {
  std::string name = stage;
  std::ranges::replace(name, '-', '_');
  for (const auto& file : {folder / "stages" / (name + extension), folder / (name + extension),
                           folder / ("conv_forward" + extension)}) {
    if (std::filesystem::exists(file)) return file;
  }
  throw EnvironmentError("No file of stage " + stage + " is in " + display_path(folder) + ".");
}

std::filesystem::path reference_folder(const CourseMilestone& milestone) {
  return course_folder() / "reference" / "solutions" / milestone.folder.filename();
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
                              const std::string& id, const std::filesystem::path& file) {
  ProgressLine progress;
  progress.show("building " + file.filename().string() + " so that it counts");
  build_given_file_parts();
  const BuiltSubmission built = build_submission(
      only(file), {.build = build_folder(), .device = Device::kEmulated, .lockstep = true});
  progress.clear();
  if (built.problem) {
    throw EnvironmentError(display_path(file) +
                           " cannot be compiled so that it counts: " + built.problem->message);
  }
  constexpr std::chrono::minutes kPatience{5};  // counting takes ten times as long as running
  Submission submission(built.program, kPatience);
  const SourceText sources({file});
  submission.set_sources(sources);
  std::vector<StageInfo> stages;
  if (submission.list_stages(stages)) {
    throw EnvironmentError("What was built of " + display_path(file) + " does not answer.");
  }
  const auto stage = std::ranges::find(stages, id, &StageInfo::id);
  if (stage == stages.end()) {
    throw EnvironmentError(display_path(file) + " registers no stage " + id + ".");
  }
  const auto layers = load_preset(options.network).conv_shapes(1);
  const std::size_t layer =
      options.layer == 0 ? layers.size() : static_cast<std::size_t>(options.layer);
  if (layer > layers.size()) {
    throw UsageError("Network " + options.network + " has " + std::to_string(layers.size()) +
                     " convolutions.");
  }
  StageFacts facts;
  progress.show("counting in convolution " + std::to_string(layer));
  const auto found = count_facts(submission, *stage, layers[layer - 1], facts);
  progress.clear();
  if (found) {
    std::cout << finding_text(*found);
    return ExitCode::kFallsShort;
  }
  std::cout << walk_text(facts, sources);
  hold_quiz(questions_of(facts, sources), options);
  print_next(milestone, next_text(milestone.id, facts, sources));
  return ExitCode::kPassed;
}

ExitCode run(const Options& options) {
  const CourseMilestone milestone = find_milestone(options.milestone);
  const bool is_students = options.solution == "student";
  const auto folder = is_students ? milestone.folder : reference_folder(milestone);
  if (!is_students && !std::filesystem::exists(folder)) {
    throw UsageError("This tree has no reference solutions; a hand-out leaves them out.");
  }
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
  const bool on_cpu = milestone.id == "m1";
  const auto file = file_of(folder, progress.stage.id, on_cpu ? ".cpp" : ".cu");
  std::cout << coloured(progress.stage.id, Colour::kStrong) << "  " << progress.stage.title << ", "
            << display_path(file) << "\n";
  if (on_cpu) {
    const auto layers = load_preset(options.network).conv_shapes(1);
    std::cout << walk_text(progress.check, progress.stage.id, layers);
    hold_quiz(questions_of(layers), options);
    print_next(milestone, next_text(layers));
  } else if (const ExitCode code =
                 explain_device_stage(milestone, options, progress.stage.id, file);
             code != ExitCode::kPassed) {
    return code;
  }
  if (is_students && std::filesystem::exists(reference_folder(milestone))) {
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
