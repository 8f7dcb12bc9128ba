// Opens each kind of page in a headless browser, at two widths, with a hostile name in it.
#include <cstdlib>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "grader/class/class_pictures.hpp"
#include "grader/class/term.hpp"
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

// A class of 60 students, of which one has the hostile name; some fail, some improve.
struct SmallClass {
  std::vector<SubmissionRow> rows{};
  std::vector<SpeedRow> speeds{};
  ClassTables tables{};
};

SmallClass small_class() {
  constexpr int kStudents = 60;
  const std::vector<std::string> findings = {
      "E-outside", "E-stride", "E-last-channel", "E-transposed-weights", "E-timeout", "E-build"};
  SmallClass made;
  for (int i = 0; i < kStudents; ++i) {
    const std::string number = std::to_string(100 + i);
    const std::string student = i == 7 ? kHostileName : "Student " + number;
    const std::string alias = "S-A" + number;
    for (int attempt = 1; attempt <= 1 + i % 4; ++attempt) {
      const bool passed = attempt > i % 3;
      const int day = 1 + (i * 7 + attempt * 5) % 28;
      const std::string received =
          "2027-02-" + std::string(day < 10 ? "0" : "") + std::to_string(day) + "T10:00:00Z";
      made.rows.push_back({.student = student,
                           .alias = alias,
                           .milestone = i % 2 == 0 ? "m2" : "m3",
                           .attempt = attempt,
                           .received = received,
                           .state = SubmissionState::kGraded,
                           .finding = passed ? "" : findings[static_cast<std::size_t>(i) % 6],
                           .passed = passed,
                           .earned = passed ? 60.0 + i % 40 : 20.0,
                           .counted = 100});
      if (!passed) continue;
      const double time = (4.0 + i % 17) / attempt;
      made.speeds.push_back({.student = student,
                             .alias = alias,
                             .milestone = i % 2 == 0 ? "m2" : "m3",
                             .received = received,
                             .attempt = attempt,
                             .stage = i % 2 == 0 ? "baseline" : "tiled-shared-constant",
                             .batch = 1000,
                             .precision = "fp32",
                             .yours_ms = time,
                             .reference_ms = 4.0,
                             .bound_ms = 0.5,
                             .speed = 4.0 / time});
    }
  }
  made.tables.hints_read.heading = {"hint",   "milestone", "students", "checked after it",
                                    "helped", "share"};
  made.tables.findings.heading = {"finding",       "milestone",     "students", "attempts",
                                  "attempts each", "still have it", "most on"};
  for (int i = 0; i < 6; ++i) {
    const std::string& finding = findings[static_cast<std::size_t>(i)];
    made.tables.hints_read.rows.push_back(
        {finding + ", hint 1", "m2", std::to_string(60 - i), "40", "20", "50 %"});
    made.tables.findings.rows.push_back({finding, i % 2 == 0 ? "m2" : "m3", "7",
                                         std::to_string(24 - 2 * i), "2.10", "3", "2027-02-08"});
    for (int day = 10; day < 28; ++day) {
      const std::string date = "2027-02-" + std::to_string(day);
      made.tables.findings_by_day.rows.push_back(
          {i % 2 == 0 ? "m2" : "m3", date, std::to_string((day * (i + 1)) % 7), finding});
      if (i >= 2) continue;
      made.tables.passed_by_day.rows.push_back(
          {i % 2 == 0 ? "m2" : "m3", date, std::to_string(day + i)});
    }
  }
  made.tables.overview = {.heading = {"milestone", "submissions", "refused", "stopped"},
                          .rows = {{"m2", "60", "0", "1"}, {"m3", "90", "2", "0"}}};
  made.tables.submissions.heading = {"name",  "alias",  "milestone", "attempt", "received",
                                     "state", "points", "of",        "finding"};
  for (const SubmissionRow& row : made.rows) {
    made.tables.submissions.rows.push_back({row.student, row.alias, row.milestone,
                                            std::to_string(row.attempt), row.received, "graded",
                                            "62.5", "100", row.passed ? "passed" : row.finding});
  }
  made.tables.predictions = {
      .heading = {"stage", "milestone", "students", "loads predicted", "loads counted", "within 2×",
                  "expected, ms", "timed, ms", "what limits it"},
      .rows = {{"baseline", "m2", "30", "3.40", "2.30", "12 of 30", "4.00", "7.50",
                "latency 20, memory 10, arithmetic 3, launches 1"},
               {"tiled-shared-constant", "m3", "30", "0.520", "0.480", "30 of 30", "2.00", "3.10",
                "memory 30"}}};
  // The hostile name also where a stage is named.
  for (SpeedRow& row : made.speeds) {
    if (row.student == kHostileName) row.stage = kHostileName;
  }
  return made;
}

}  // namespace

TEST_CASE("opened pages: the dashboard of a class, with what it gets wrong") {
  const SmallClass made = small_class();
  const Page page =
      class_dashboard(made.rows, counting(made.rows, {}), made.speeds, made.tables, true);
  look_at("dashboard", page, 3 + 3 * 3);
}

TEST_CASE("opened pages: the leaderboard") {
  look_at("leaderboard", leaderboard_page(small_class().speeds), 3);
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
