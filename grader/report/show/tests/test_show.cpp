#include <fstream>

#include "common/base/run_process.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/json_fields.hpp"
#include "grader/report/show/show.hpp"

namespace convlab::grader {
namespace {

using convlab::testing::contains;

constexpr const char* kHostile =
    "  // </script><script>document.title = 'owned'</script> <!-- & \\u0000";

SourceText sources(const std::filesystem::path& folder) {
  const auto file = folder / "conv.cu";
  std::ofstream(file) << "__global__ void conv(const float* in, float* out) {\n"
                         "  extern __shared__ float tile[];\n"
                      << kHostile << "\n"
                      << "  tile[threadIdx.x] = in[threadIdx.x];\n"
                         "  out[threadIdx.x] = tile[63 - threadIdx.x];\n"
                         "}\n";
  return SourceText({file});
}

// 64 threads in rows of 8: each loads an element, all but one store it in a tile, and without a
// barrier each loads another one. The last warp reads beyond the input.
StageSteps steps() {
  StageSteps steps{.stage = {.id = "tiled"}, .shape = {1, 1, 1, 8, 7, 1, 1}};
  StepNotes& notes = steps.notes;
  notes = {.kernel = "conv", .file = "conv.cu", .grid = {1, 1, 1}, .block_size = {8, 8, 1}};
  notes.arrays = {{.space = "global", .memory = {.argument = 1, .bytes = 56 * 4}},
                  {.space = "shared", .memory = {.variable = "dynamic", .bytes = 64 * 4}},
                  {.space = "global", .memory = {.argument = 2, .bytes = 56 * 4}}};
  notes.places = {{.file = "conv.cu", .line = 4}, {.file = "conv.cu", .line = 5}};
  notes.steps = {
      {StepKind::kRead, 0, 0, 4, {0, 64, 0, 4}, {0, 4, 0, 1, 4, 0}},
      {StepKind::kWrite, 0, 1, 4, {0, 63, 0, 4}, {0, 1, 0, 1, 1, 0}},
      {StepKind::kRead, 1, 1, 4, {0, 64, 252, -4}, {0, 1, 0, 1, 1, 0}},
      {StepKind::kWrite, 1, 2, 4, {0, 56, 0, 4}, {0, 4, 0, 1, 3, 0}},
  };
  notes.is_over = true;
  steps.unwritten = {5, 6, 7, 20};
  steps.wrong = {30};
  return steps;
}

void add_race(StageSteps& steps) {
  FaultRecord record{.kind = FaultKind::kRace, .kernel = "conv"};
  record.memory = {.variable = "dynamic", .bytes = 64 * 4};
  record.race = RaceFacts{.scope = RaceScope::kBlock,
                          .first = {.file = "conv.cu", .line = 4, .writes = true},
                          .second = {.file = "conv.cu", .line = 5}};
  steps.race = record;
  steps.finding =
      Finding{.id = "E-race", .title = "a race", .seen = "Two lines.\n    conv.cu:4 | <b>"};
}

// What the page gets.
Json json_of(const StageSteps& steps) {
  const testing::TemporaryFolder folder;
  const std::string page = steps_page(steps, sources(folder.path()), "m3, <tiled>", "where",
                                      CONVLAB_SOURCE_DIR "/grader/report/show");
  const auto begin = page.find("id=\"steps\">") + 11;
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST_CASE("show: what lies outside, was not written, or has a wrong number") {
  const Json marks = json_of(steps())["marks"];
  REQUIRE(marks.size() == 4);
  CHECK(marks[0]["kind"] == "beyond");
  CHECK(marks[0]["text"] ==
        "Step 1: 8 threads read outside of in, which has 224 bytes, in line 4.");
  CHECK(marks[0]["steps"][0][1] == Json({56, 57, 58, 59, 60, 61, 62, 63}));
  CHECK(marks[1]["text"] ==
        "Step 3: 1 thread reads elements of tile that no thread has written before, which is "
        "right only if nothing uses them, in line 5.");
  CHECK(marks[1]["steps"][0][1] == Json::array({0}));
  CHECK(marks[2]["text"] ==
        "4 elements of the whole output are written by no thread of any block.");
  CHECK(marks[2]["array"] == 2);
  CHECK(marks[3]["text"] ==
        "1 element of the whole output is wrong at the end, or was never written.");
}

TEST_CASE("show: a race marks the threads of other warps that touch the same element") {
  StageSteps racing = steps();
  add_race(racing);
  const Json race = json_of(racing)["marks"][0];
  CHECK(race["kind"] == "race");
  REQUIRE(race["steps"].size() == 2);
  CHECK(race["steps"][0][0] == 1);
  CHECK(race["steps"][0][1].size() == 63);
  CHECK(race["steps"][1][0] == 2);
  racing.notes.steps.insert(racing.notes.steps.begin() + 2,
                            {StepKind::kBarrier, 1, -1, 0, {0, 64, 0, 0}, {}});
  CHECK(json_of(racing)["marks"][0]["steps"].empty());
}

TEST_CASE(
    "show: the page gets arrays, lines and steps; rows follow from threads below each other") {
  StageSteps drawn = steps();
  Json json = json_of(drawn);
  CHECK(json["arrays"][0]["name"] == "in");
  CHECK(json["arrays"][0]["role"] == "input");
  CHECK(json["arrays"][0]["layout"] == Json({1, 8, 7}));
  CHECK(json["arrays"][1]["name"] == "tile");
  CHECK(json["arrays"][1]["layout"] == Json({1, 8, 8}));
  CHECK(json["steps"].size() == 4);
  CHECK(json["unwritten"] == Json::array({{5, 7}, {20, 20}}));
  CHECK(json["places"][1]["line"] == 5);
  drawn.notes.block_size = {64, 1, 1};  // then nothing tells, and a row has 32 elements
  CHECK(json_of(drawn)["arrays"][1]["layout"] == Json({1, 2, 32}));
}

TEST_CASE("show: the page is small, needs no network, and a source stays text") {
  const testing::TemporaryFolder folder;
  const std::string page = steps_page(steps(), sources(folder.path()), "m3, <tiled>", "where",
                                      CONVLAB_SOURCE_DIR "/grader/report/show");
  CHECK(page.size() < 200'000);
  CHECK_FALSE(contains(page, "</script><script>document"));
  CHECK_FALSE(contains(page, "<tiled>"));
  CHECK_FALSE(contains(page, "src="));
  CHECK_FALSE(contains(page, "<link"));
}

TEST_CASE("show: a browser draws the page without an error") {
  const testing::TemporaryFolder folder;
  StageSteps racing = steps();
  add_race(racing);
  const auto file = folder.path() / "show.html";
  write_atomically(file, steps_page(racing, sources(folder.path()), "m3, tiled", "where",
                                    CONVLAB_SOURCE_DIR "/grader/report/show"));
  const FinishedProcess browser =
      run_process({.words = {"chromium", "--headless", "--no-sandbox", "--disable-gpu",
                             "--enable-logging=stderr", "--user-data-dir=" + folder.path().string(),
                             "--dump-dom", "file://" + file.string()},
                   .time_limit = std::chrono::minutes(2)});
  if (browser.exit_code == kNoSuchProgram) {
    WARN("skipped: there is no chromium");
    return;
  }
  REQUIRE(browser.succeeded());
  INFO(browser.errors);
  CHECK_FALSE(contains(browser.errors, "CONSOLE"));
  const std::string& drawn = browser.output;
  CHECK(contains(drawn, "Step 1 of 4. Line 4: 64 threads read 4 bytes of in each"));
  CHECK(contains(drawn, "class=\"marked\""));
  CHECK(contains(drawn, "class=\"unwritten\""));
  CHECK(contains(drawn, "Outside of it: 8 elements, 56 to 63"));
  CHECK(contains(drawn, "<title>m3, tiled</title>"));
  CHECK(contains(drawn, "&lt;/script&gt;&lt;script&gt;document"));
}

}  // namespace
}  // namespace convlab::grader
