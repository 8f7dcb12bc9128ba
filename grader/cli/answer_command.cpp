#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"
#include "grader/cli/commands.hpp"
#include "grader/course/notebook.hpp"
#include "grader/course/way.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::answer_command {

namespace {

struct Options {
  std::string milestone;
  std::string question;
  std::string text;
};

void print(const ChapterQuestion& question, const Notebook& notebook) {
  std::cout << paragraph("  " + question.number + ".  ",
                         "[" + question.needs + "] " + question.text);
  const auto answer = notebook.answers.find(question.number);
  if (answer != notebook.answers.end()) std::cout << paragraph("      Yours: ", answer->second);
}

ExitCode run(const Options& options) {
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
    std::vector<std::string> known;
    for (const ChapterQuestion& each : all) known.push_back(each.number);
    throw UsageError(unknown_name("question", options.question, known, " in " + milestone.id));
  }
  if (options.text.empty()) {
    print(*asked, notebook);
    return ExitCode::kPassed;
  }
  notebook.answers[asked->number] = options.text;
  write_notebook(milestone, notebook);
  std::cout << paragraph("", "Kept: build/bin/grader report " + milestone.id +
                                 " shows it, and the chapter shows ours, if it has one, below the "
                                 "question. Next: build/bin/grader next");
  return ExitCode::kPassed;
}

}  // namespace

void add(CLI::App& app, ExitCode& exit_code) {
  auto [command, options] = add_command(app, exit_code, "answer",
                                        "Shows a chapter's questions, and keeps your answers", run);
  command.add_option("MILESTONE", options.milestone, "m1, m2, …")->required();
  command.add_option("QUESTION", options.question,
                     "Its number (default: show all), or a stage that you predicted");
  command.add_option("TEXT", options.text, "Your answer (default: show the question)");
  command.footer(
      "Examples:\n  build/bin/grader answer m2\n"
      "  build/bin/grader answer m2 4 \"14.1 ms are 2.6 TFLOP/s, 4 % of the peak.\"");
}

}  // namespace convlab::grader::answer_command
