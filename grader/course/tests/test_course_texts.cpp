// What this course's chapters, exercises and hints must hold.
#include <algorithm>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/sentences.hpp"
#include "common/base/whole_file.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/course/counted_stage.hpp"
#include "grader/course/course.hpp"
#include "grader/course/progress.hpp"
#include "grader/course/puzzles.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::testing::contains;

TEST_CASE(
    "course: the chapter names its check, and every exercise says idea, cost and what to do") {
  for (const CourseMilestone& milestone : milestones()) {
    const std::string chapter = read_text(milestone.folder / "README.md");
    INFO(milestone.id);
    CHECK(contains(chapter, "# Milestone " + milestone.id.substr(1) + ": "));
    CHECK(contains(chapter, "grader check " + milestone.id));
    for (const HandoutFile& file : handout_files(milestone)) {
      if (is_puzzle(file.path)) continue;
      const std::string text = read_text(course_folder() / file.path);
      for (const std::string& part :
           {std::string("// Idea  "), std::string("// Cost  "), std::string("// Expect"),
            std::string("// Run   "), std::string("// Picture"), std::string("Fill in: about"),
            "convlab::not_implemented(\"" + file.path + "\");"}) {
        INFO(file.path << " lacks: " << part);
        CHECK(contains(text, part));
      }
    }
  }
}

// What a hint wants to be removed: "(void)" of "Remove the line with (void)."; empty if nothing.
static std::string unwanted_text(const std::string& hint) {
  const std::string before = "emove the line with ";
  const auto at = hint.find(before);
  if (at == std::string::npos) return {};
  const auto begin = at + before.size();
  return hint.substr(begin, hint.find_first_of(" .,;", begin) - begin);
}

TEST_CASE("course: what a hint wants to be removed stands in its file as handed out") {
  CHECK(unwanted_text("Nearly the code: … Remove the line with (void).") == "(void)");
  for (const CourseMilestone& milestone : milestones()) {
    for (const auto& [stage, list] : read_hints(milestone.folder / "hints.json")) {
      const auto puzzle = find_puzzle(milestone, stage);
      const auto file =
          puzzle ? std::optional(puzzle->file) : file_of_stage(milestone.folder, stage);
      const std::string text = file ? read_text(*file) : "";
      for (const std::string& hint : list) {
        INFO(milestone.id << " " << stage << ": " << hint);
        CHECK(contains(text, unwanted_text(hint)));
      }
    }
  }
}

TEST_CASE(
    "course: hints for each stage, from a nudge to nearly the code, for puzzles and findings") {
  for (const CourseMilestone& milestone : milestones()) {
    const Hints hints = read_hints(milestone.folder / "hints.json");
    CHECK(hints.contains("general"));
    for (const auto& [stage, list] : hints) {
      INFO(milestone.id << " " << stage);
      CHECK(list.size() >= (stage == "general" ? 3 : 4));
      for (const std::string& hint : list) CHECK(testing::longest_sentence(hint) <= 25);
    }
    for (const Puzzle& puzzle : puzzles_of(milestone)) {
      INFO(puzzle.stage);
      CHECK(hints.contains(puzzle.stage));
    }
  }
  for (const auto& [id, list] : read_hints(course_folder() / "milestones/finding_hints.json")) {
    INFO(id);
    const bool is_of_m1 = id.starts_with("m1 ");
    const std::string finding = is_of_m1 ? id.substr(3) : id;
    CHECK(std::ranges::find(catalogue(), finding, &FindingWords::id) != catalogue().end());
    for (const std::string& hint : list) {
      CHECK(testing::longest_sentence(hint) <= 25);
      for (const char* word : {"kernel", "grid", "block", "tile", "launch", "cuda"}) {
        CHECK_FALSE((is_of_m1 && contains(hint, word)));
      }
    }
  }
}

TEST_CASE("course: the file of a stage registers it, and is none that is compared with it") {
  for (const std::string stage : {"constant-memory", "tiled-constant", "restrict-unroll"}) {
    const CountedWork work =
        counted_work(find_milestone("m3"), {.stage = stage, .solution = "reference"});
    std::string name = stage + ".cu";
    std::ranges::replace(name, '-', '_');
    CHECK(work.submitted.sources.front().filename() == name);
  }
  CHECK_THROWS_WITH(counted_work(find_milestone("m3"), {.stage = "x", .solution = "reference"}),
                    "There is no stage 'x' in the reference solution of m3; the stages are: "
                    "constant-memory, restrict-unroll, tiled-constant, tiled-shared.");
}

TEST_CASE("course: a prediction is right only if all that was predicted is") {
  const Counted counted{.loads = 2.0, .inputs = 566.0};
  const auto told = [&](double loads, double inputs) {
    return prediction_text({.loads = loads, .inputs = inputs}, counted, "answer it");
  };
  CHECK(told(2.0, 0.0) == "You predicted this.");
  CHECK(told(2.001, 566.2) == "You predicted this.");
  CHECK(told(2.0, 196.0) ==
        "You predicted 2.00 loads, and 196 of each input. What explains the difference? Keep your "
        "sentence: answer it");
  CHECK(told(3.0, 0.0).starts_with("You predicted 3.00 loads. What explains"));
}
