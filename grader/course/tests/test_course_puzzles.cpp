// As handed out no puzzle and no repair is solved; the reference solves all of them.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "common/base/address_sanitizer.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/custom_submission.hpp"
#include "grader/course/counted_stage.hpp"
#include "grader/course/course.hpp"
#include "grader/course/puzzles.hpp"
#include "grader/measure/counters.hpp"

using namespace convlab;
using namespace convlab::grader;
namespace fs = std::filesystem;

namespace {

// Lines of `change` that begin with '-' are found one after the other, whatever their indentation;
// those that begin with '+' take their place.
std::string with_changed_lines(const std::string& text, const std::string& change) {
  std::vector<std::string> lines = lines_of(text);
  const std::vector<std::string> all = lines_of(change);
  std::ptrdiff_t from = 0;
  for (auto each = all.begin(); each != all.end();) {
    std::vector<std::string> out;
    for (; each != all.end() && !each->starts_with('+'); ++each) {
      if (each->starts_with('-')) out.push_back(trimmed(each->substr(1)));
    }
    auto at =
        std::search(lines.begin() + from, lines.end(), out.begin(), out.end(),
                    [](const std::string& a, const std::string& b) { return trimmed(a) == b; });
    REQUIRE((at != lines.end() || out.empty()));
    at = lines.erase(at, at + static_cast<std::ptrdiff_t>(out.size()));
    for (; each != all.end() && each->starts_with('+'); ++each) {
      at = std::next(lines.insert(at, each->substr(1)));
    }
    from = at - lines.begin();
  }
  std::string changed;
  for (const std::string& line : lines) changed += line + "\n";
  return changed;
}

// The file with the lines changed that reference/solutions/…/puzzles says.
Puzzle solved(const CourseMilestone& milestone, Puzzle puzzle, const fs::path& folder) {
  const fs::path name = puzzle.file.filename();
  const fs::path change = course_folder() / "reference/solutions" / milestone.folder.filename() /
                          puzzle.folder / fs::path(name).replace_extension(".change");
  if (!fs::exists(change)) return puzzle;
  write_atomically(folder / name, with_changed_lines(read_text(puzzle.file), read_text(change)));
  puzzle.file = folder / name;
  return puzzle;
}

double bytes_over_least(const CourseMilestone& milestone, const Puzzle& kernel) {
  const CountedStage counted = counted_stage({.submitted = only(kernel.file),
                                              .stage = kernel.stage,
                                              .shape = first_shape(milestone, kernel)});
  return find_counter("bytes-over-least")->value(counted.counts);
}

bool can_run() {
  return !CONVLAB_ADDRESS_SANITIZER && fs::exists(course_folder() / "reference/solutions");
}

}  // namespace

TEST_CASE("course: puzzles and repairs wait, and the reference solves them") {
  if (!can_run()) return;
  const testing::TemporaryFolder folder;
  for (const CourseMilestone& milestone : milestones()) {
    for (const char* kind : {"puzzles", "repairs"}) {
      for (const Puzzle& puzzle : puzzles_of(milestone, kind)) {
        INFO(milestone.id << " " << puzzle.stage);
        const auto waits = check_puzzle(milestone, puzzle);
        REQUIRE(waits);
        // However its numbers look.
        if (puzzle.stage == "second-barrier") CHECK(waits->id == "E-race");
        const auto found = check_puzzle(milestone, solved(milestone, puzzle, folder.path()));
        INFO((found ? found->id + ": " + found->seen.text() : ""));
        CHECK_FALSE(found);
      }
    }
  }
}

TEST_CASE("course: rows of a fragment in the wrong distance reach what nobody has written") {
  if (!can_run()) return;
  const testing::TemporaryFolder folder;
  const CourseMilestone milestone = find_milestone("m4");
  const Puzzle wmma = solved(milestone, *find_puzzle(milestone, "wmma"), folder.path());
  std::string text = read_text(wmma.file);
  for (const std::string right : {"weight_tile, kRow", "input_tile, kRow"}) {
    const auto at = text.find(right);
    REQUIRE(at != std::string::npos);
    text.replace(at + right.size() - 4, 4, "kTile");
  }
  write_atomically(wmma.file, text);
  const auto found = check_puzzle(milestone, wmma);
  REQUIRE(found);
  CHECK(found->id == "E-unwritten-memory");
  CHECK(found->seen.text().find("load_matrix_sync") != std::string::npos);
}

TEST_CASE("course: a solution with another line for its main step solves no puzzle") {
  if (!can_run()) return;
  const testing::TemporaryFolder folder;
  const CourseMilestone milestone = find_milestone("m4");
  const std::map<std::string, std::pair<std::string, std::string>> other_lines = {
      {"two-streams", {"cudaMemcpyDeviceToHost, stream));", " cudaStreamSynchronize(stream);"}},
      {"ldmatrix",
       {"&weight_tile[row][column]);",
        " for (int i = 0; i < 4; ++i) left[i] = reinterpret_cast<const unsigned*>("
        "weight_tile[lane / 4 + i % 2 * 8])[lane % 4 + i / 2 * 4];"}}};
  for (const auto& [stage, lines] : other_lines) {
    INFO(stage);
    const Puzzle puzzle = solved(milestone, *find_puzzle(milestone, stage), folder.path());
    std::string text = read_text(puzzle.file);
    const auto at = text.find(lines.first);
    REQUIRE(at != std::string::npos);
    write_atomically(puzzle.file, text.insert(at + lines.first.size(), lines.second));
    const auto found = check_puzzle(milestone, puzzle);
    REQUIRE(found);
    CHECK(found->id == "E-technique");
  }
}

TEST_CASE("course: right outputs without what a puzzle is about do not solve it") {
  if (!can_run()) return;
  const testing::TemporaryFolder folder;
  const std::string tricks = read_text(course_folder() / "grader/course/tests/tricks.cu");
  const auto lines = lines_of(tricks);
  const auto is_name = [](const std::string& line) { return line.starts_with("// Trick "); };
  const auto first = std::ranges::find_if(lines, is_name);
  int tried = 0;
  for (auto at = first; at != lines.end();) {
    std::string names = " ";
    for (; at != lines.end() && is_name(*at); ++at) names += at->substr(8) + " ";
    const auto end = std::find_if(at, lines.end(), [&](const std::string& line) {
      return is_name(line) || line == "// End of tricks";
    });
    std::string text;
    for (auto line = lines.begin(); line != first; ++line) text += *line + "\n";
    for (; at != end; ++at) text += *at + "\n";
    if (*end == "// End of tricks") at = lines.end();
    const fs::path file = folder.path() / ("trick_" + std::to_string(tried) + ".cu");
    write_atomically(file, text + "}  // namespace\n");
    for (const CourseMilestone& milestone : milestones()) {
      for (Puzzle puzzle : puzzles_of(milestone)) {
        if (names.find(" " + puzzle.stage + " ") == std::string::npos) continue;
        INFO(names << "in " << milestone.id << " for " << puzzle.stage);
        puzzle.file = file;
        const auto found = check_puzzle(milestone, puzzle);
        REQUIRE(found);
        INFO(found->id << ": " << found->seen.text());
        // These two have a second size, for which the trick fails.
        CHECK((found->id == "E-technique" || milestone.id == "m2"));
        ++tried;
      }
    }
  }
  CHECK(tried == 39);
}

TEST_CASE("course: the detective's kernels are right, and the reference makes them fast") {
  if (!can_run()) return;
  const testing::TemporaryFolder folder;
  for (const CourseMilestone& milestone : milestones()) {
    const auto kernels = puzzles_of(milestone, "detective");
    double most = 0.0;
    for (const Puzzle& each : kernels) most = std::max(most, each.most_moved);
    for (const Puzzle& each : kernels) {
      INFO(each.stage);
      CHECK_FALSE(check_puzzle(milestone, each));
      CHECK((bytes_over_least(milestone, each) <= most) == each.cause.empty());
      const Puzzle fast = solved(milestone, each, folder.path());
      CHECK_FALSE(check_puzzle(milestone, fast));
      CHECK(bytes_over_least(milestone, fast) <= most);
    }
  }
}
