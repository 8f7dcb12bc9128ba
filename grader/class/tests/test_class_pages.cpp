#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "grader/class/class_pages.hpp"
#include "grader/class/gradebook.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

struct SmallClass {
  convlab::testing::TemporaryFolder folder;
  ClassDatabase database{folder.path() / "class.db", ClassDatabase::Access::kGrade};

  // An attempt with a time, beside a reference of 2 ms and a bound of 0.5 ms.
  void add(const char* student, const std::string& received, double ms,
           Precision precision = Precision::kFp32) {
    CheckResult check;
    check.result.verdict = Verdict::kPassed;
    RunResult run{.batch = 1000};
    run.stage = {.id = "baseline", .precision = precision};
    check.result.runs = {run};
    check.score = Score{.items = {{.stage = "baseline", .item = "speed", .batch = 1000}}};
    check.score->items[0].speed = {
        .yours_ms = {{ms}}, .reference_ms = {{2.0}}, .speed = 2.0 / ms, .bound_ms = 0.5};
    const auto id = database.add_submission(database.add_student({.name = student}), "m2", received,
                                            {.place = received, .received = received});
    database.set_outcome(id, {.state = SubmissionState::kGraded, .check = check});
  }

  std::string alias_of(const char* student) { return database.submissions(student).at(0).alias; }
};

// A table of a page, without its headings.
auto rows_of(const PageSection& section) {
  return std::get<Table>(section.blocks.at(0)).rows;
}

using Texts = std::vector<std::vector<std::string>>;

}  // namespace

TEST_CASE("class pages: the best attempt of each, by precision class and alias") {
  SmallClass made;
  made.add("alice", "2026-10-01T00:00:00Z", 8.0);
  made.add("alice", "2026-10-03T00:00:00Z", 1.0, Precision::kFp16);
  made.add("alice", "2026-10-04T00:00:00Z", 4.0);
  made.add("bob", "2026-10-02T00:00:00Z", 4.0);
  made.add("eve", "2026-10-02T00:00:00Z", 5.0);
  const Page page = leaderboard_page(made.database);
  REQUIRE(page.sections.size() == 2);
  CHECK(page.sections[0].title == "m2 baseline, batch 1000, fp16");
  CHECK(page.sections[1].title == "m2 baseline, batch 1000, fp32");
  // Equal times share a rank; alice has had three attempts.
  CHECK(rows_of(page.sections[1]) ==
        Texts{{made.alias_of("alice"), "1", "4.00", "0.500", "3", "2.00", "0.500"},
              {made.alias_of("bob"), "1", "4.00", "0.500", "1", "2.00", "0.500"},
              {made.alias_of("eve"), "3", "5.00", "0.400", "1", "2.00", "0.500"}});
  const Figure& figure = std::get<Chart>(page.sections[1].blocks.at(1)).figure;
  CHECK(figure.name == "op-time-m2-baseline-batch-1000-fp32");
  const auto& series = figure.panels.at(0).series;
  REQUIRE(series.size() == 3);  // the reference, the bound, the class
  CHECK(series[0].marks.at(0).value == 2.0);
  CHECK(series[1].label == "bound");
  CHECK(series[2].marks.at(2).at == 3.0);
  CHECK(series[2].marks.at(2).value == 5.0);
  const auto dashboard = [&](bool names) {
    return markdown_of(class_dashboard(made.database, "", names));
  };
  CHECK(dashboard(false).find("alice") == std::string::npos);
  CHECK(dashboard(false).find(made.alias_of("alice")) != std::string::npos);
  CHECK(dashboard(true).find("alice") != std::string::npos);
  CHECK(dashboard(true).find(made.alias_of("alice")) == std::string::npos);
}

TEST_CASE("class pages: points that nobody could measure are no zero") {
  SmallClass made;
  made.add("alice", "2026-10-01T00:00:00Z", 8.0);
  const auto overview = rows_of(class_dashboard(made.database, "", false).sections.at(0));
  REQUIRE(overview.size() == 1);
  CHECK(overview[0][overview[0].size() - 2] == "-");  // the most points
  CHECK(overview[0].back() == "-");                   // the median
  const auto attempts = settled(made.database.submissions(), Term{});
  CHECK(settled_points(attempts.at(0)).find("could be measured here") != std::string::npos);
}

TEST_CASE("class pages: findings by the attempts that they cost, and who passed when") {
  const convlab::testing::TemporaryFolder folder;
  ClassDatabase database(folder.path() / "class.db", ClassDatabase::Access::kGrade);
  const auto add = [&](const char* student, const std::string& received, const char* finding) {
    CheckResult check;
    if (*finding != '\0') check.findings = {{.id = finding, .title = "t", .seen = "s"}};
    check.result.verdict = *finding == '\0' ? Verdict::kPassed : Verdict::kFailed;
    const auto id = database.add_submission(database.add_student({.name = student}), "m2", received,
                                            {.place = received, .received = received});
    database.set_outcome(id, {.state = SubmissionState::kGraded, .check = check});
    return id;
  };
  add("alice", "2026-10-01T00:00:00Z", "E-outside");
  add("alice", "2026-10-02T00:00:00Z", "E-outside");
  add("alice", "2026-10-02T01:00:00Z", "");
  add("bob", "2026-10-02T00:00:00Z", "E-outside");
  const auto last = add("bob", "2026-10-04T00:00:00Z", "E-stride");
  const Table table = database.table("findings");
  CHECK(table.heading == std::vector<std::string>{"finding", "milestone", "students", "attempts",
                                                  "attempts each", "still have it", "most on"});
  CHECK(table.rows == Texts{{"E-outside", "m2", "2", "3", "1.50", "0", "2026-10-02"},
                            {"E-stride", "m2", "1", "1", "1.00", "1", "2026-10-04"}});
  const auto figures = figures_of(class_dashboard(database, "", false));
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].rows == std::vector<std::string>{"m2 E-outside", "m2 E-stride"});
  CHECK(figures[0].panels.at(0).series.at(0).marks.at(0).value == 3.0);
  CHECK(figures[0].panels.at(0).series.at(1).marks.at(0).value == 2.0);
  CHECK(markdown_of(class_dashboard(database, "", false)).find("median points") !=
        std::string::npos);
  CHECK(database.table("findings_by_day").rows == Texts{{"m2", "2026-10-01", "1", "E-outside"},
                                                        {"m2", "2026-10-02", "2", "E-outside"},
                                                        {"m2", "2026-10-04", "1", "E-stride"}});
  CHECK(database.table("passed_by_day").rows ==
        Texts{{"m2", "2026-10-01", "0"}, {"m2", "2026-10-02", "1"}, {"m2", "2026-10-04", "1"}});
  CHECK(database.table("overview").rows == Texts{{"m2", "5", "0", "0", "2", "1", "0"}});
  CHECK(database.table("states").rows == Texts{{"m2", "graded", "5", "1"}});
  const Table submissions = database.table("submissions");
  REQUIRE(submissions.rows.size() == 5);
  CHECK(submissions.heading.at(1) == "alias");
  auto second = submissions.rows[4];
  second.erase(second.begin() + 1);
  CHECK(second == std::vector<std::string>{"bob", "m2", "2", "2026-10-04T00:00:00Z", "graded", "0",
                                           "100", "E-stride"});
  // Of bob's attempts the one before the revoked one is his last.
  database.run(
      "INSERT INTO revocation (submission, reason, evidence, revoked) "
      "VALUES (?, 'Copied.', '', '')",
      last);
  CHECK(database.table("findings").rows ==
        Texts{{"E-outside", "m2", "2", "3", "1.50", "1", "2026-10-02"}});
  CHECK(database.table("passed_by_day").rows.size() == 2);
}
