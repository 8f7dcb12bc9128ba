#include "grader/course/repairs.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "common/base/error.hpp"
#include "common/base/whole_file.hpp"
#include "grader/course/handout.hpp"

namespace convlab::grader {

Puzzle pristine_copy(const CourseMilestone& milestone, Puzzle puzzle) {
  const auto files = handout_files(milestone);
  const auto file = std::ranges::find_if(
      files, [&](const HandoutFile& each) { return course_folder() / each.path == puzzle.file; });
  const auto text = file == files.end() ? std::nullopt : pristine_text(*file);
  if (!text)
    throw EnvironmentError("There is no copy of " + puzzle.file.string() + " as handed out.");
  puzzle.file = build_folder() / puzzle.folder / puzzle.file.filename();
  write_atomically(puzzle.file, *text);
  return puzzle;
}

Repair examined_repair(const CourseMilestone& milestone, const Puzzle& repair,
                       const std::function<void(const Puzzle&)>& announce) {
  Notebook notebook = read_notebook(milestone);
  Repair& note = notebook.repairs[repair.stage];
  if (!note.found.empty()) return note;
  const Puzzle broken = pristine_copy(milestone, repair);
  const PuzzleWalk walk = walk_puzzles(milestone, {broken}, {}, announce, true);
  if (!walk.finding) throw EnvironmentError(repair.stage + " is right as handed out.");
  note.found = walk.finding->id;
  note.seen = walk.finding->seen;
  const Repair found = note;
  write_notebook(milestone, notebook);
  return found;
}

std::vector<Diagnosis> causes_of(const Puzzle& repair, const std::string& found) {
  // Other faults of kernels, of which three are shown; which ones depends on the name.
  constexpr std::array kOthers = {
      "E-race",      "E-outside", "E-barrier",        "E-unwritten-memory", "E-misaligned",
      "E-tile-rows", "E-warp",    "E-partly-written", "E-stored-early",     "E-last-channel"};
  const auto diagnosis = [](const std::string& id) {
    return *std::ranges::find_if(catalogue(), [&](const Diagnosis& each) { return each.id == id; });
  };
  const auto mark = std::accumulate(repair.stage.begin(), repair.stage.end(), std::size_t{0});
  std::vector<Diagnosis> causes;
  for (std::size_t i = mark; causes.size() < 3; ++i) {
    const std::string id = kOthers.at(i % kOthers.size());
    if (id != found) causes.push_back(diagnosis(id));
  }
  causes.insert(causes.begin() + static_cast<std::ptrdiff_t>(mark % 4), diagnosis(found));
  return causes;
}

}  // namespace convlab::grader
