// Opens each kind of page in a headless browser, at two widths, with a hostile name in it.
#include <cstdlib>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/class/class_pages.hpp"
#include "grader/report/pages/comparison.hpp"
#include "grader/report/pages/report.hpp"
#include "grader/report/pages/tests/opened_page.hpp"
#include "grader/report/profile/profile.hpp"

using namespace convlab;
using namespace convlab::grader;
using namespace convlab::grader::testing;
using convlab::testing::contains;
namespace fs = std::filesystem;

namespace {

const fs::path kResults = CONVLAB_SOURCE_DIR "/reference/results";

// With CONVLAB_PICTURES=DIR the pages are kept there as PNG, for a person to look at.
void look_at(const std::string& name, const Page& page, int charts) {
  static std::string why_not;
  static const std::optional<std::string> browser = find_browser(why_not);
  if (!browser) {
    WARN("skipped, no page was opened: " << why_not);
    return;
  }
  const char* pictures = std::getenv("CONVLAB_PICTURES");
  for (const int width : {1280, 800}) {
    CAPTURE(name, width);
    const fs::path picture =
        pictures == nullptr
            ? fs::path()
            : fs::absolute(pictures) / (name + "-" + std::to_string(width) + ".png");
    const OpenedPage seen = opened(*browser, page, width, picture);
    CHECK(seen.width == width);
    CHECK(seen.charts == charts);
    CHECK(seen.marks >= charts);
    CHECK(contains(seen.text, kHostileName));
    for (const std::string& each : seen.wrong) FAIL_CHECK(each);
  }
}

// A class of which one student, a finding and a stage have the hostile name.
void fill_class(ClassDatabase& database) {
  for (int i = 0; i < 60; ++i) {
    const std::string name = i == 7 ? kHostileName : "Student " + std::to_string(i);
    const auto student = database.add_student({.name = name});
    CheckResult check;
    check.findings = {{.id = i == 7 ? kHostileName : "E-stride"}};
    check.score = Score{
        .items = {
            {.stage = i % 2 == 0 ? "baseline" : kHostileName, .item = "speed", .batch = 1000}}};
    check.score->items[0].speed = {
        .yours_ms = {{1.0 + i}}, .reference_ms = {{4.0}}, .speed = 4.0, .bound_ms = 0.5};
    const auto id = database.add_submission(
        student, "m2", "d",
        {.place = name, .received = "2027-02-" + std::to_string(10 + i % 18) + "T10:00:00Z"});
    database.set_outcome(id, {.state = SubmissionState::kGraded, .check = check});
    database.keep_notes(student, "m2",
                        R"({"hints": [{"number": 1, "list": "E-stride", "finding": "E-stride"}],
                            "predictions": {"baseline": {"limiter": "memory", "loads": 3.4}}})",
                        "");
  }
}

}  // namespace

TEST_CASE("opened pages: the dashboard of a class, with what it gets wrong, and the leaderboard") {
  const convlab::testing::TemporaryFolder folder;
  ClassDatabase database(folder.path() / "class.db", ClassDatabase::Access::kGrade);
  fill_class(database);
  look_at("dashboard", class_dashboard(database, "", true), 1 + 2);
  look_at("leaderboard", leaderboard_page(database), 2);
}

TEST_CASE("opened pages: a report, with the comparison of all stages") {
  Result result = read_result(kResults / "nvidia-h200.m4.json");
  result.runs.front().stage.title = kHostileName;
  const ReportSource source{
      .milestone = "m4",
      .title = kHostileName,
      .results = {result},
      .names = {kHostileName},
      .mistakes = {{.stage = "streams", .id = "E-stride", .title = kHostileName}}};
  Page page = make_report(source);
  int charts = 0;
  for (const PageSection& section : page.sections) {
    for (const PageBlock& block : section.blocks) charts += std::holds_alternative<Chart>(block);
  }
  CHECK(charts > 0);
  look_at("report", page, charts);
}

TEST_CASE("opened pages: a profile") {
  const convlab::testing::TemporaryFolder folder;
  const fs::path file = folder.path() / "conv.cu";
  write_atomically(file, "__global__ void conv(const float* in, float* out) {\n  // " +
                             kHostileName + "\n  out[0] = in[threadIdx.x];\n}\n");
  StageCounts counts{.shape = {1, 1, 1, 10, 10, 1, 1}};
  counts.launches = {{.kernel = "conv", .file = "conv.cu", .grid = {2, 1, 1}, .block = {32, 8, 1}}};
  counts.counted.accesses = {{.kernel = "conv",
                              .file = "conv.cu",
                              .line = 3,
                              .space = "global",
                              .memory = {.argument = 1, .bytes = 400},
                              .bytes = 4,
                              .requests = 10,
                              .lanes = 200,
                              .parts = 200}};
  look_at("profile", profile_page(counts, SourceText({file}), "m3, " + kHostileName, "where"), 0);
}
