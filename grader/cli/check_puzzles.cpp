#include "grader/cli/check_puzzles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>

#include "common/result/result.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/custom_submission.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/course/counted_stage.hpp"
#include "grader/course/progress.hpp"
#include "grader/measure/counters.hpp"
#include "grader/report/table.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::check_command {

namespace {

/// How far somebody is with puzzles.
struct Walk {
  SolvedPuzzles count{};
  std::optional<Puzzle> waits{};     ///< the first that is not solved
  std::optional<Finding> finding{};  ///< of that one; none if it is as handed out
};

void print_count(const SolvedPuzzles& puzzles) {
  std::cout << "  puzzles: " << puzzles.solved << " of " << puzzles.all << " solved\n";
}

// What is found of a student's own goes into the history, for hints and the report.
std::optional<Finding> checked(const CourseMilestone& milestone, const Puzzle& puzzle, bool own,
                               CheckPrinter& printer) {
  printer.observer().announce("building and checking " + puzzle.stage);
  auto found = grader::check_puzzle(milestone, puzzle);
  if (found) address(*found, milestone.id, SourceText({puzzle.file}));
  printer.clear();
  if (!own) return found;
  CheckResult check;
  check.result.milestone = milestone.id;
  check.result.created = utc_now();
  check.cases.push_back({.stage = puzzle.stage, .verdict = Verdict::kMeasured});
  if (found) check.findings.push_back(*found);
  for (Finding& each : check.findings) each.stage = puzzle.stage;
  append_history(history_file(), check);
  printer.tell_editor(check, {puzzle.file}, course_folder());
  return found;
}

// Checks the puzzles that are neither known as solved nor as handed out. A student's own that are
// solved are remembered.
Walk walk(const CourseMilestone& milestone, const std::vector<Puzzle>& puzzles, bool own,
          CheckPrinter& printer) {
  Walk walk{.count = {0, static_cast<int>(puzzles.size())}};
  SolvedFiles solved = own ? known_solved(milestone) : SolvedFiles{};
  const std::vector<std::string> hashes = hashes_of(puzzles);
  const std::vector<HandoutFile> handed_out = handout_files(milestone);
  for (std::size_t i = 0; i < puzzles.size(); ++i) {
    const Puzzle& puzzle = puzzles[i];
    bool is_solved = solved.contains(puzzle.stage);
    std::optional<Finding> found;
    if (!is_solved &&
        std::ranges::find(handed_out, hashes[i], &HandoutFile::sha256) == handed_out.end()) {
      found = checked(milestone, puzzle, own, printer);
      is_solved = !found;
      if (is_solved) solved[puzzle.stage] = hashes[i];
    }
    walk.count.solved += is_solved ? 1 : 0;
    if (is_solved || walk.waits) continue;
    walk.waits = puzzle;
    walk.finding = found;
  }
  if (own) remember_solved(milestone, solved);
  return walk;
}

void print_waiting(const CourseMilestone& milestone, const Walk& walk) {
  const Puzzle& puzzle = *walk.waits;
  std::cout << (walk.finding
                    ? finding_text(*walk.finding)
                    : paragraph("    next   ", "Open " + display_path(puzzle.file) + " (" +
                                                   puzzle.title + "), solve it, and check again."))
            << paragraph("    stuck  ", grader_command("hint", milestone.id, puzzle.stage));
}

std::string letter(std::size_t place) {
  return {static_cast<char>('a' + place)};
}

ExitCode ask_cause(const std::string& question, const std::vector<std::string>& causes,
                   const std::string& next) {
  std::cout << paragraph("  ", question);
  for (std::size_t i = 0; i < causes.size(); ++i) {
    std::cout << paragraph("    " + letter(i) + ")  ", causes[i]);
  }
  std::cout << paragraph("    next   ", next);
  return ExitCode::kFallsShort;
}

/// What may make a kernel slow, and the counter that shows it.
struct Cause {
  std::string_view counter;
  const char* text;
};

constexpr std::array kCauses = {
    Cause{
        "loads-per-product",
        "Its threads load the same numbers again and again, more often than those of the others."},
    Cause{"conflicts-per-request",
          "The lanes of a warp want different words of one bank of shared memory, and wait."},
    Cause{"sectors-over-needed",
          "The lanes of a warp read and write far apart: each request moves many sectors and uses "
          "only a part of each."},
    Cause{"active-lanes", "In most of its requests only a few lanes of the warp do anything."}};

double value_of(std::string_view counter, const StageCounts& counts) {
  const double value = find_counter(counter)->value(counts);
  return std::isnan(value) ? 0.0 : value;
}

StageCounts counts_of(const CourseMilestone& milestone, const Puzzle& kernel) {
  CountedStage counted = counted_stage({.submitted = only(kernel.file),
                                        .stage = kernel.stage,
                                        .shape = first_shape(milestone, kernel)});
  if (counted.finding) throw EnvironmentError(kernel.stage + ": " + counted.finding->seen.text());
  return std::move(counted.counts);
}

Table table_of(const CourseMilestone& milestone, const std::vector<Puzzle>& kernels) {
  Table table{.heading = {"counter"}};
  std::vector<std::string> hits = {"hit rate of a cache with room for all"};
  for (const Puzzle& kernel : kernels) {
    const StageCounts counts = counts_of(milestone, kernel);
    const Table own = counter_table(counts);
    table.heading.push_back(kernel.stage);
    table.rows.resize(own.rows.size());
    for (std::size_t row = 0; row < own.rows.size(); ++row) {
      if (table.rows[row].empty()) table.rows[row].push_back(own.rows[row][0]);
      table.rows[row].push_back(own.rows[row][1]);
    }
    hits.push_back(percent(1.0 - 1.0 / std::max(1.0, value_of("bytes-over-least", counts))));
  }
  table.rows.push_back(hits);
  return table;
}

// What was named before mending, now or in an earlier check: the first answer counts. Empty if
// there is none yet.
// @param choices  what is noted, by what the student gives
std::string named_cause(const CourseMilestone& milestone, const std::string& exercise,
                        const std::string& given,
                        const std::map<std::string, std::string>& choices) {
  Notebook notebook = read_notebook(milestone);
  std::string& named = notebook.repairs[exercise].named;
  if (given.empty()) return named;
  const auto choice = choices.find(given);
  if (choice == choices.end()) {
    throw UsageError("The cause is " + choices.begin()->first + " to " + choices.rbegin()->first +
                     ", not '" + given + "'.");
  }
  if (named.empty()) {
    named = choice->second;
    write_notebook(milestone, notebook);
  }
  return named;
}

void note_mended(const CourseMilestone& milestone, const std::string& stage) {
  Notebook notebook = read_notebook(milestone);
  notebook.repairs[stage].mended = true;
  write_notebook(milestone, notebook);
}

ExitCode check_puzzle(const CourseMilestone& milestone, const Puzzle& puzzle,
                      CheckPrinter& printer) {
  std::cout << "Checking " << milestone.id << ", puzzle " << puzzle.stage << ": " << puzzle.title
            << std::endl;
  const Walk found = walk(milestone, {puzzle}, true, printer);
  if (found.waits) {
    print_waiting(milestone, found);
    return ExitCode::kFallsShort;
  }
  std::cout << coloured("SOLVED", Colour::kGood) << "  Next: build/bin/grader next\n";
  return ExitCode::kPassed;
}

ExitCode check_repair(const CourseMilestone& milestone, const Puzzle& repair,
                      const std::string& given, CheckPrinter& printer) {
  std::cout << "Checking " << milestone.id << ", repair " << repair.stage << ": " << repair.title
            << std::endl;
  const std::vector<FindingWords> causes = causes_of(repair);
  const std::string again = grader_command("check", milestone.id, repair.stage);
  std::map<std::string, std::string> choices;
  for (std::size_t i = 0; i < causes.size(); ++i) choices[letter(i)] = causes[i].id;
  const std::string named = named_cause(milestone, repair.stage, given, choices);
  if (named.empty()) {
    std::cout << paragraph("    seen   ", repair.seen);
    std::vector<std::string> titles;
    for (const FindingWords& cause : causes) titles.emplace_back(cause.title);
    return ask_cause("Which is the cause?", titles,
                     "Read " + display_path(repair.file) + ", then " + again + " --cause LETTER");
  }
  const auto found = checked(milestone, repair, true, printer);
  const auto title = [&](const std::string& id) {
    const auto cause = std::ranges::find(causes, id, &FindingWords::id);
    return "\"" + std::string(cause == causes.end() ? id : cause->title) + "\"";
  };
  if (found) {
    std::cout << paragraph("  ", "You named " + title(named) + ".") << finding_text(*found)
              << paragraph("    mend   ", display_path(repair.file) + ", then " + again)
              << paragraph("    stuck  ", grader_command("hint", milestone.id, repair.stage));
    return ExitCode::kFallsShort;
  }
  note_mended(milestone, repair.stage);
  std::cout << hanging(coloured("MENDED  ", Colour::kGood), 8,
                       "You named " + title(named) +
                           (named == repair.cause ? ", and that it was."
                                                  : "; it was " + title(repair.cause) + "."))
            << "Next: build/bin/grader next\n";
  return ExitCode::kPassed;
}

ExitCode check_detective(const CourseMilestone& milestone, const std::string& given,
                         CheckPrinter& printer) {
  std::cout << "Checking " << milestone.id
            << ", the detective's case: three kernels for the same product" << std::endl;
  const std::string again = grader_command("check", milestone.id, "detective");
  const std::vector<Puzzle> kernels = puzzles_of(milestone, "detective");
  const Puzzle& slow =
      *std::ranges::find_if(kernels, [](const Puzzle& each) { return !each.cause.empty(); });
  const auto cause = std::ranges::find(kCauses, slow.cause, &Cause::counter);
  const std::string right =
      slow.stage + "-" + letter(static_cast<std::size_t>(cause - kCauses.begin()));
  std::map<std::string, std::string> choices;
  for (const Puzzle& kernel : kernels) {
    for (std::size_t i = 0; i < kCauses.size(); ++i) {
      const std::string answer = kernel.stage + "-" + letter(i);
      choices[answer] = answer;
    }
  }
  const std::string named = named_cause(milestone, "detective", given, choices);
  if (named.empty()) {
    std::cout << "\n" << plain_table(table_of(milestone, kernels)) << "\n";
    std::vector<std::string> texts;
    for (const Cause& each : kCauses) texts.emplace_back(each.text);
    return ask_cause("All three results are right. Which kernel is slow, and why?", texts,
                     "Decide from the numbers, before you open the files: " + again +
                         " --cause NAME-LETTER, for example " + choices.begin()->first +
                         ". docs/profile.md explains the counters.");
  }
  std::cout << paragraph(
      "  ", "You named " + named +
                (named == right ? ", and that is right. " : "; the answer is " + right + ". ") +
                cause->text +
                " The counter that tells: " + std::string(find_counter(cause->counter)->title) +
                ". A high hit rate only says that the same sectors are asked for again, not that "
                "few are.");
  const auto found = checked(milestone, slow, false, printer);
  const double moves = found ? 0.0 : value_of("bytes-over-least", counts_of(milestone, slow));
  const std::string text =
      display_path(slow.file) + " moves " + three_digits(moves) + " times the least bytes";
  if (!found && moves <= slow.most_moved) {
    note_mended(milestone, "detective");
    std::cout << coloured("SOLVED", Colour::kGood) << "  " << text
              << ". Next: build/bin/grader next\n";
    return ExitCode::kPassed;
  }
  std::cout << (found ? finding_text(*found)
                      : paragraph("    seen   ", text + ", the others at most " +
                                                     three_digits(slow.most_moved) + " times."))
            << paragraph("    mend   ", "Change " + display_path(slow.file) +
                                            " until it moves no more than the others. Its lines: " +
                                            grader_command("profile", milestone.id, slow.stage) +
                                            "; then " + again);
  return ExitCode::kFallsShort;
}

}  // namespace

SolvedPuzzles puzzles_in(const CourseMilestone& milestone, const std::filesystem::path& folder,
                         CheckPrinter& printer) {
  std::vector<Puzzle> puzzles = puzzles_of(milestone);
  if (puzzles.empty()) throw UsageError(milestone.id + " has no puzzles.");
  for (Puzzle& puzzle : puzzles) {
    puzzle.file = folder / puzzle.file.filename();
    if (!std::filesystem::exists(puzzle.file)) {
      throw UsageError("There is no puzzle " + puzzle.file.string() +
                       "; --puzzles takes a folder that holds all puzzles of " + milestone.id +
                       ", named as they were handed out.");
    }
  }
  const SolvedPuzzles solved = walk(milestone, puzzles, false, printer).count;
  print_count(solved);
  return solved;
}

bool passes_puzzles(const CourseMilestone& milestone, CheckPrinter& printer,
                    std::optional<SolvedPuzzles>& solved_puzzles) {
  const auto puzzles = puzzles_of(milestone);
  if (puzzles.empty()) return true;
  const Walk found = walk(milestone, puzzles, true, printer);
  solved_puzzles = found.count;
  print_count(*solved_puzzles);
  if (!found.waits) return true;
  const auto files = handout_files(milestone);
  const bool begun = std::ranges::any_of(files, [](const HandoutFile& file) {
    return !is_puzzle(file.path) && !is_as_handed_out(file);
  });
  if (begun) return true;
  print_waiting(milestone, found);
  std::cout << paragraph("           ", milestone.id +
                                            " itself comes after the puzzles; if you begin with "
                                            "it, they are no longer asked for.");
  return false;
}

std::optional<ExitCode> check_exercise(const CourseMilestone& milestone, const std::string& name,
                                       const std::string& given, CheckPrinter& printer) {
  const auto puzzle = find_puzzle(milestone, name);
  const std::string kind = puzzle ? puzzle->folder : name;
  if (kind == "detective") return check_detective(milestone, given, printer);
  if (kind == "repairs") return check_repair(milestone, *puzzle, given, printer);
  if (puzzle && given.empty()) return check_puzzle(milestone, *puzzle, printer);
  return std::nullopt;
}

}  // namespace convlab::grader::check_command
