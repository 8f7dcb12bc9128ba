#include "grader/cli/check_puzzles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>

#include "common/base/error.hpp"
#include "common/result/result.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/custom_submission.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/result/check_history.hpp"
#include "grader/course/counted_stage.hpp"
#include "grader/course/handout.hpp"
#include "grader/course/notebook.hpp"
#include "grader/course/progress.hpp"
#include "grader/measure/counters.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/numbers.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::check_command {

namespace {

/// How far somebody is with puzzles.
struct Walk {
  SolvedPuzzles count{};
  std::optional<Puzzle> waits{};     ///< the first that is not solved
  std::optional<Finding> finding{};  ///< of that one; none if it is as handed out
};

std::optional<Finding> checked(const CourseMilestone& milestone, const Puzzle& puzzle,
                               CheckPrinter& printer) {
  printer.observer().announce("building and checking " + puzzle.stage);
  auto found = grader::check_puzzle(milestone, puzzle);
  printer.clear();
  return found;
}

void print_count(const SolvedPuzzles& puzzles) {
  std::cout << "  puzzles: " << puzzles.solved << " of " << puzzles.all << " solved\n";
}

// What a check of a puzzle or a repair found, for hints and the report.
void note_check(const CourseMilestone& milestone, const std::string& stage,
                const std::optional<Finding>& found) {
  CheckResult check;
  check.result.milestone = milestone.id;
  check.result.created = utc_now();
  check.cases.push_back({.stage = stage, .verdict = Verdict::kMeasured});
  if (found) check.findings.push_back(*found);
  for (Finding& each : check.findings) each.stage = stage;
  append_history(history_file(), check);
}

// Checks the puzzles that are neither known as solved nor as handed out. What is found of a
// student's own is remembered.
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
      found = checked(milestone, puzzle, printer);
      is_solved = !found;
      if (is_solved) solved[puzzle.stage] = hashes[i];
      if (own && (is_solved || !walk.waits)) note_check(milestone, puzzle.stage, found);
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

constexpr std::string_view kMoved = "bytes-over-least";

double value_of(std::string_view counter, const StageCounts& counts) {
  const double value = find_counter(counter)->value(counts);
  return std::isnan(value) ? 0.0 : value;
}

std::string answer_of(const Puzzle& kernel, std::size_t cause) {
  return kernel.stage + "-" + static_cast<char>('a' + cause);
}

/// The kernels of a case as they were handed out.
struct Case {
  std::vector<Puzzle> kernels{};
  std::vector<StageCounts> counts{};
  std::size_t slow = 0;
  std::size_t cause = 0;
  double most_of_others = 0.0;  ///< bytes moved over the least

  [[nodiscard]] std::string answer() const { return answer_of(kernels[slow], cause); }
};

StageCounts counts_of(const CourseMilestone& milestone, const Puzzle& kernel) {
  CountedStage counted = counted_stage({.submitted = only(kernel.file),
                                        .stage = kernel.stage,
                                        .shape = first_shape(milestone, kernel)});
  if (counted.finding) throw EnvironmentError(kernel.stage + ": " + counted.finding->seen);
  return std::move(counted.counts);
}

// None of the kernels computes much: the one that moves most takes longest. cases.json says why.
Case examined(const CourseMilestone& milestone) {
  Case all{.kernels = puzzles_of(milestone, "detective")};
  for (std::size_t i = 0; i < all.kernels.size(); ++i) {
    const Puzzle& kernel = all.kernels[i];
    all.counts.push_back(counts_of(milestone, pristine_copy(milestone, kernel)));
    const auto cause = std::ranges::find(kCauses, kernel.cause, &Cause::counter);
    if (cause == kCauses.end()) {
      all.most_of_others = std::max(all.most_of_others, value_of(kMoved, all.counts[i]));
      continue;
    }
    all.slow = i;
    all.cause = static_cast<std::size_t>(cause - kCauses.begin());
  }
  return all;
}

Table table_of(const Case& all) {
  Table table{.heading = {"counter"}};
  std::vector<std::string> hits = {"hit rate of a cache that forgets nothing"};
  for (std::size_t i = 0; i < all.kernels.size(); ++i) {
    const Table own = counter_table(all.counts[i]);
    table.heading.push_back(all.kernels[i].stage);
    if (table.rows.empty()) table.rows.resize(own.rows.size());
    for (std::size_t row = 0; row < own.rows.size(); ++row) {
      if (i == 0) table.rows[row].push_back(own.rows[row][0]);
      table.rows[row].push_back(own.rows[row][1]);
    }
    const double hit_rate = 1.0 - 1.0 / std::max(1.0, value_of(kMoved, all.counts[i]));
    hits.push_back(std::to_string(std::lround(100.0 * hit_rate)) + " %");
  }
  table.rows.push_back(hits);
  return table;
}

// @throws UsageError unless the answer is like "ben-c"
void require_answer(const std::string& given, const std::vector<Puzzle>& kernels) {
  for (const Puzzle& kernel : kernels) {
    for (std::size_t cause = 0; cause < kCauses.size(); ++cause) {
      if (given == answer_of(kernel, cause)) return;
    }
  }
  throw UsageError("An answer names the slow kernel and the letter of the cause, such as " +
                   answer_of(kernels.front(), 0) + ", not '" + given + "'.");
}

void print_question(const Case& all, const std::string& again) {
  std::cout << "\n"
            << plain_table(table_of(all)) << "\n"
            << paragraph("", "All three results are right. Which kernel is slow, and why?");
  for (std::size_t i = 0; i < kCauses.size(); ++i) {
    std::cout << paragraph(std::string("    ") + static_cast<char>('a' + i) + ")  ",
                           kCauses[i].text);
  }
  std::cout << paragraph(
      "    next   ", "Decide from the numbers, before you open the files: " + again +
                         " --cause NAME-LETTER, for example " + answer_of(all.kernels.front(), 0) +
                         ". docs/profile.md explains the counters.");
}

void print_solution(const Case& all, const std::string& named) {
  const StageCounts& slow = all.counts[all.slow];
  const std::string& name = all.kernels[all.slow].stage;
  const Counter& telling = *find_counter(kCauses[all.cause].counter);
  std::cout << paragraph("  ",
                         "You named " + named +
                             (named == all.answer() ? ", and that is right. "
                                                    : "; the answer is " + all.answer() + ". ") +
                             kCauses[all.cause].text)
            << paragraph("  ", "The counter that tells: " + std::string(telling.title) + ", " +
                                   three_digits(telling.value(slow)) + " for " + name +
                                   ". It moves " + three_digits(value_of(kMoved, slow)) +
                                   " times the least bytes, the others at most " +
                                   three_digits(all.most_of_others) +
                                   " times. A high hit rate only says that the same sectors are "
                                   "asked for again, not that few are.");
}

void note_mended(const CourseMilestone& milestone, const std::string& stage) {
  Notebook notebook = read_notebook(milestone);
  notebook.repairs[stage].mended = true;
  write_notebook(milestone, notebook);
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
                      const std::string& letter, CheckPrinter& printer) {
  std::cout << "Checking " << milestone.id << ", repair " << repair.stage << ": " << repair.title
            << std::endl;
  const std::vector<Diagnosis> causes = causes_of(repair);
  const std::string again = grader_command("check", milestone.id, repair.stage);
  Notebook notebook = read_notebook(milestone);
  std::string& named = notebook.repairs[repair.stage].named;
  if (!letter.empty() && named.empty()) {
    const std::size_t choice = static_cast<std::size_t>(letter.front() - 'a');
    if (letter.size() != 1 || choice >= causes.size()) {
      throw UsageError("The cause is a letter from a to d, not '" + letter + "'.");
    }
    named = causes[choice].id;
    write_notebook(milestone, notebook);
  }
  if (named.empty()) {
    std::cout << paragraph("    seen   ", repair.seen) << "  Which is the cause?\n";
    for (std::size_t i = 0; i < causes.size(); ++i) {
      std::cout << paragraph(std::string("    ") + static_cast<char>('a' + i) + ")  ",
                             causes[i].title);
    }
    std::cout << paragraph(
        "    next   ", "Read " + display_path(repair.file) + ", then " + again + " --cause LETTER");
    return ExitCode::kFallsShort;
  }
  const auto found = checked(milestone, repair, printer);
  note_check(milestone, repair.stage, found);
  const auto title = [&](const std::string& id) {
    const auto cause = std::ranges::find(causes, id, &Diagnosis::id);
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

std::vector<std::string> detective_problems(const CourseMilestone& milestone,
                                            const std::vector<Puzzle>& mended) {
  const Case all = examined(milestone);
  std::vector<std::string> problems;
  if (value_of(kMoved, all.counts[all.slow]) <= all.most_of_others) {
    problems.push_back(all.kernels[all.slow].stage + " is not slower than the others.");
  }
  for (const Puzzle& kernel : mended) {
    const double moves = value_of(kMoved, counts_of(milestone, kernel));
    if (moves <= all.most_of_others) continue;
    problems.push_back("The reference's " + kernel.stage + " moves " + three_digits(moves) +
                       " times the least bytes, the right ones at most " +
                       three_digits(all.most_of_others) + ".");
  }
  return problems;
}

ExitCode check_detective(const CourseMilestone& milestone, const std::string& answer,
                         CheckPrinter& printer) {
  std::cout << "Checking " << milestone.id
            << ", the detective's case: three kernels for the same product" << std::endl;
  const std::string again = grader_command("check", milestone.id, "detective");
  if (!answer.empty()) require_answer(answer, puzzles_of(milestone, "detective"));
  const Case all = examined(milestone);
  Notebook notebook = read_notebook(milestone);
  std::string& named = notebook.repairs["detective"].named;
  if (!answer.empty() && named.empty()) {
    named = answer;
    write_notebook(milestone, notebook);
  }
  if (named.empty()) {
    print_question(all, again);
    return ExitCode::kFallsShort;
  }
  print_solution(all, named);
  const Puzzle& slow = all.kernels[all.slow];
  if (const auto found = checked(milestone, slow, printer)) {
    std::cout << finding_text(*found);
  } else if (const double moves = value_of(kMoved, counts_of(milestone, slow));
             moves > all.most_of_others) {
    std::cout << paragraph("    seen   ", display_path(slow.file) + " moves " +
                                              three_digits(moves) + " times the least bytes.");
  } else {
    note_mended(milestone, "detective");
    std::cout << coloured("SOLVED", Colour::kGood) << "  " << slow.stage << " now moves "
              << three_digits(moves) << " times the least bytes. Next: build/bin/grader next\n";
    return ExitCode::kPassed;
  }
  std::cout << paragraph(
      "    mend   ", "Change " + display_path(slow.file) +
                         " until it moves no more than the others: at most " +
                         three_digits(all.most_of_others) + " times the least bytes. Its lines: " +
                         grader_command("profile", milestone.id, slow.stage) + "; then " + again);
  return ExitCode::kFallsShort;
}

}  // namespace convlab::grader::check_command
