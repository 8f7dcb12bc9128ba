#include "grader/cli/check_puzzles.hpp"

#include <algorithm>
#include <iostream>

#include "grader/course/handout.hpp"
#include "grader/course/notebook.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/repairs.hpp"
#include "grader/report/check_report.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader::check_command {

namespace {

PuzzleWalk walk(const CourseMilestone& milestone, const std::vector<Puzzle>& puzzles,
                const SolvedFiles& known, CheckPrinter& printer) {
  PuzzleWalk found = walk_puzzles(milestone, puzzles, known, [&](const Puzzle& puzzle) {
    printer.observer().announce("the puzzle " + puzzle.stage);
  });
  printer.clear();
  return found;
}

SolvedPuzzles count_of(const PuzzleWalk& walk) {
  return {static_cast<int>(walk.solved.size()), walk.all};
}

void print_count(const SolvedPuzzles& puzzles) {
  std::cout << "  puzzles: " << puzzles.solved << " of " << puzzles.all << " solved\n";
}

void print_waiting(const CourseMilestone& milestone, const PuzzleWalk& walk) {
  const Puzzle& puzzle = walk.waits;
  if (walk.finding) std::cout << finding_text(*walk.finding);
  std::cout << paragraph("    next   ", "Open " + display_path(puzzle.file) + " (" + puzzle.title +
                                            "), solve it, and check again.")
            << paragraph("    stuck  ",
                         "build/bin/grader hint " + milestone.id + " --stage " + puzzle.stage);
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
  const SolvedPuzzles solved = count_of(walk(milestone, puzzles, {}, printer));
  print_count(solved);
  return solved;
}

bool passes_puzzles(const CourseMilestone& milestone, CheckPrinter& printer,
                    std::optional<SolvedPuzzles>& solved_puzzles) {
  const auto puzzles = puzzles_of(milestone);
  if (puzzles.empty()) return true;
  const PuzzleWalk found = walk(milestone, puzzles, known_solved(milestone), printer);
  remember_solved(milestone, found.solved);
  solved_puzzles = count_of(found);
  print_count(*solved_puzzles);
  if (found.waits.file.empty()) return true;
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
  const PuzzleWalk found = walk(milestone, {puzzle}, known_solved(milestone), printer);
  remember_solved(milestone, found.solved);
  if (!found.waits.file.empty()) {
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
  const auto announce = [&](const Puzzle&) { printer.observer().announce("building it"); };
  Repair note = examined_repair(milestone, repair, announce);
  printer.clear();
  const std::vector<Diagnosis> causes = causes_of(repair, note.found);
  const std::string again = "build/bin/grader check " + milestone.id + " --stage " + repair.stage;
  if (!letter.empty() && note.named.empty()) {
    const std::size_t choice = static_cast<std::size_t>(letter.front() - 'a');
    if (letter.size() != 1 || choice >= causes.size()) {
      throw UsageError("The cause is a letter from a to d, not '" + letter + "'.");
    }
    Notebook notebook = read_notebook(milestone);
    note.named = notebook.repairs[repair.stage].named = causes[choice].id;
    write_notebook(milestone, notebook);
  }
  if (note.named.empty()) {
    std::cout << paragraph("    seen   ", note.seen) << "  Which is the cause?\n";
    for (std::size_t i = 0; i < causes.size(); ++i) {
      std::cout << paragraph(std::string("    ") + static_cast<char>('a' + i) + ")  ",
                             causes[i].title);
    }
    std::cout << paragraph(
        "    next   ", "Read " + display_path(repair.file) + ", then " + again + " --cause LETTER");
    return ExitCode::kFallsShort;
  }
  const PuzzleWalk found = walk_puzzles(milestone, {repair}, {}, announce, true);
  printer.clear();
  if (found.finding) {
    std::cout << "  You named " << note.named << ".\n"
              << finding_text(*found.finding)
              << paragraph("    mend   ", display_path(repair.file) + ", then " + again);
    return ExitCode::kFallsShort;
  }
  std::cout << coloured("MENDED", Colour::kGood) << "  You named " << note.named
            << (note.named == note.found ? ", and that it was.\n"
                                         : "; it was " + note.found + ".\n");
  return ExitCode::kPassed;
}

}  // namespace convlab::grader::check_command
