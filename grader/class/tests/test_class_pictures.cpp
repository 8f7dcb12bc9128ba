#include <algorithm>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "grader/class/class_pictures.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

std::vector<SpeedRow> some_speeds() {
  const auto row = [](const char* student, const char* alias, int attempt, const char* day,
                      double ms) {
    return SpeedRow{.student = student,
                    .alias = alias,
                    .milestone = "m2",
                    .received = day,
                    .attempt = attempt,
                    .stage = "baseline",
                    .batch = 1000,
                    .yours_ms = ms,
                    .reference_ms = 2.0,
                    .bound_ms = 0.5,
                    .speed = 2.0 / ms};
  };
  return {row("alice", "S-AAAA", 1, "2026-10-01T00:00:00Z", 8.0),
          row("alice", "S-AAAA", 2, "2026-10-03T00:00:00Z", 1.0),
          row("bob", "S-BBBB", 1, "2026-10-02T00:00:00Z", 4.0)};
}

std::vector<SubmissionRow> some_rows() {
  return {{.student = "alice",
           .alias = "S-AAAA",
           .milestone = "m2",
           .attempt = 1,
           .received = "2026-10-01T00:00:00Z",
           .state = SubmissionState::kGraded,
           .passed = true,
           .earned = 90,
           .counted = 100},
          {.student = "eve",
           .alias = "S-EEEE",
           .milestone = "m2",
           .attempt = 1,
           .received = "2026-10-02T00:00:00Z",
           .state = SubmissionState::kRefused}};
}

std::vector<Figure> class_figures(const std::vector<SubmissionRow>& rows,
                                  const std::vector<SpeedRow>& speeds) {
  return figures_of(class_dashboard(rows, rows, speeds, {}, false));
}

}  // namespace

TEST_CASE("class pictures: the best attempt of each, by alias") {
  const Table board = leaderboard(some_speeds(), false);
  CHECK(board.rows == std::vector<std::vector<std::string>>{{"S-AAAA", "1", "1.00", "2.00", "2"},
                                                            {"S-BBBB", "2", "4.00", "0.500", "1"}});
  CHECK(leaderboard(some_speeds(), true).rows[0][0] == "alice");
  auto equal = some_speeds();
  equal[2].yours_ms = 1.0;  // as fast as the other's best
  CHECK(leaderboard(equal, false).rows[1][1] == "1");
}

TEST_CASE("class pictures: each chart has what the class did, and no name") {
  const auto figures = class_figures(some_rows(), some_speeds());
  REQUIRE(figures.size() == 4);
  const auto values = [&](std::size_t figure, std::size_t series) {
    std::vector<double> all;
    for (const Mark& mark : figures.at(figure).panels.at(0).series.at(series).marks) {
      all.push_back(mark.value);
    }
    return all;
  };
  using Values = std::vector<double>;
  CHECK(figures[0].name == "progress");
  CHECK(figures[0].panels[0].series.empty());  // its numbers come from the database
  CHECK(figures[1].name == "op-time-m2-baseline-1000");
  CHECK(values(1, 0) == Values{1.0, 4.0});
  CHECK(figures[1].panels[0].series[0].marks[0].at == 50.0);
  CHECK(values(1, 1) == Values{2.0, 2.0});
  CHECK(figures[1].panels[0].series[2].label == "bound");
  // Attempts are rows, never joined by a line.
  CHECK(figures[2].rows ==
        std::vector<std::string>{"attempt 1 of 2 students", "attempt 2 of 1 student"});
  CHECK(values(2, 1) == Values{0.5, 2.0});
  // Days are places on a line: 1, 2 and 3 October.
  CHECK(figures[3].x.tics.size() == 3);
  CHECK(figures[3].x.tics[1].first == figures[3].x.tics[0].first + 1);
  CHECK(values(3, 1).at(2) == 2.0);
  const std::string page =
      markdown_of(class_dashboard(some_rows(), some_rows(), some_speeds(), {}, false));
  CHECK(page.find("alice") == std::string::npos);
  CHECK(page.find("S-AAAA") != std::string::npos);
  CHECK(markdown_of(class_dashboard(some_rows(), some_rows(), some_speeds(), {}, true))
            .find("alice") != std::string::npos);
}

TEST_CASE("class pictures: the leaderboard is sorted by precision class and names nobody") {
  auto speeds = some_speeds();
  speeds[0].precision = speeds[2].precision = "fp32";
  speeds[1].precision = "fp16";
  const Page page = leaderboard_page(speeds);
  REQUIRE(page.sections.size() == 2);
  CHECK(page.sections[0].title == "m2 baseline, batch 1000, fp16");
  CHECK(page.sections[1].title == "m2 baseline, batch 1000, fp32");
  const auto& table = std::get<Table>(page.sections[1].blocks.at(0));
  CHECK(table.rows.size() == 2);
  CHECK(table.rows[0][0] == "S-BBBB");
  const Figure& figure = std::get<Chart>(page.sections[1].blocks.at(1)).figure;
  CHECK(figure.panels.at(0).series.size() == 3);  // the class, the reference, the bound
}

TEST_CASE("class pictures: findings by the attempts that they cost, and who passed when") {
  const convlab::testing::TemporaryFolder folder;
  ClassDatabase database(folder.path() / "class.db", ClassDatabase::Access::kGrade);
  const auto add = [&](const char* student, const std::string& received, const char* finding) {
    CheckResult check;
    if (*finding != '\0') check.findings = {{.id = finding, .title = "t", .seen = "s"}};
    check.result.verdict = *finding == '\0' ? Verdict::kPassed : Verdict::kFailed;
    const auto id = database.add_submission(database.add_student({.name = student}), "m2", received,
                                            {.place = received, .received = received});
    database.set_outcome(id, {.state = SubmissionState::kGraded, .check = check}, 100.0);
    return id;
  };
  add("alice", "2026-10-01T00:00:00Z", "E-outside");
  add("alice", "2026-10-02T00:00:00Z", "E-outside");
  add("alice", "2026-10-02T01:00:00Z", "");
  add("bob", "2026-10-02T00:00:00Z", "E-outside");
  const auto last = add("bob", "2026-10-04T00:00:00Z", "E-stride");
  const auto figures = [&] {
    const auto rows = database.submissions();
    return figures_of(class_dashboard(rows, rows, {}, database.tables(), false));
  };
  const Table table = database.tables().findings;
  CHECK(table.heading == std::vector<std::string>{"finding", "milestone", "students", "attempts",
                                                  "attempts each", "still have it", "most on"});
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0] ==
        std::vector<std::string>{"E-outside", "m2", "2", "3", "1.50", "0", "2026-10-02"});
  CHECK(table.rows[1] ==
        std::vector<std::string>{"E-stride", "m2", "1", "1", "1.00", "1", "2026-10-04"});
  const auto values = [&](const std::string& name, std::size_t series) {
    std::vector<double> all;
    const auto charts = figures();
    const auto found = std::ranges::find(charts, name, &Figure::name);
    for (const Mark& mark : found->panels.at(0).series.at(series).marks) all.push_back(mark.value);
    return all;
  };
  using Values = std::vector<double>;
  CHECK(values("findings-by-day", 0) == Values{1, 2});
  CHECK(values("findings-by-day", 1) == Values{1});
  CHECK(figures().at(2).panels.at(0).series.at(0).label == "m2 E-outside");
  CHECK(values("findings", 0) == Values{3, 1});
  CHECK(values("findings", 1) == Values{2, 1});
  CHECK(values("progress", 0) == Values{0, 1, 1});
  const ClassTables tables = database.tables();
  CHECK(tables.overview.rows == std::vector<std::vector<std::string>>{{"m2", "5", "0", "0"}});
  REQUIRE(tables.submissions.rows.size() == 5);
  CHECK(tables.submissions.heading.at(1) == "alias");
  auto second = tables.submissions.rows[4];
  second.erase(second.begin() + 1);
  CHECK(second == std::vector<std::string>{"bob", "m2", "2", "2026-10-04T00:00:00Z", "graded", "0",
                                           "100", "E-stride"});
  const auto page_with = [&](bool names) {
    return markdown_of(class_dashboard({}, {}, {}, database.tables(), names));
  };
  CHECK(page_with(true).find("bob") != std::string::npos);
  CHECK(page_with(false).find("bob") == std::string::npos);
  CHECK(page_with(false).find(tables.submissions.rows[4][1]) != std::string::npos);
  // Of bob's attempts the one before the revoked one is his last.
  database.revoke(last, "Copied.", "");
  CHECK(database.tables().findings.rows ==
        std::vector<std::vector<std::string>>{
            {"E-outside", "m2", "2", "3", "1.50", "1", "2026-10-02"}});
  CHECK(values("progress", 0) == Values{0, 1});
}
