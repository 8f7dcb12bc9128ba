#include "common/testing/catch.hpp"
#include "common/testing/temporary_folder.hpp"
#include "grader/class/class_pictures.hpp"
#include "grader/pages/draw_chart.hpp"

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
                    .floor_ms = 0.5,
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

}  // namespace

TEST_CASE("class pictures: the best attempt of each, by alias") {
  const Table board = leaderboard(some_speeds(), "m2", "baseline", 1000, false);
  CHECK(board.rows == std::vector<std::vector<std::string>>{{"S-AAAA", "1", "1.00", "2.00", "2"},
                                                            {"S-BBBB", "2", "4.00", "0.500", "1"}});
  CHECK(leaderboard(some_speeds(), "m2", "baseline", 1000, true).rows[0][0] == "alice");
  CHECK(leaderboard(some_speeds(), "m2", "baseline", 100, true).rows.empty());
}

TEST_CASE("class pictures: each chart has what the class did, and no name") {
  const auto pictures = class_pictures(some_rows(), some_speeds());
  REQUIRE(pictures.size() == 4);
  CHECK(pictures[0].stem == "progress");
  CHECK(pictures[0].chart.lines.at(0).values == std::vector<std::optional<double>>{1.0, 1.0});
  const Chart& distribution = pictures[1].chart;
  CHECK(distribution.x == std::vector<double>{50.0, 100.0});
  CHECK(distribution.lines.at(0).values == std::vector<std::optional<double>>{1.0, 4.0});
  CHECK(distribution.lines.at(1).values.at(0) == 2.0);
  CHECK(distribution.lines.at(2).label == "floor");
  CHECK(pictures[2].chart.places == std::vector<std::string>{"1", "2"});
  CHECK(pictures[3].chart.places.size() == 3);
  CHECK(pictures[3].chart.lines.at(0).values.at(2) == 2.0);
  const std::string page = markdown_of(class_dashboard(some_rows(), some_speeds(), false));
  CHECK(page.find("alice") == std::string::npos);
  CHECK(page.find("S-AAAA") != std::string::npos);
  CHECK(markdown_of(class_dashboard(some_rows(), some_speeds(), true)).find("alice") !=
        std::string::npos);
}

TEST_CASE("class pictures: gnuplot draws every chart") {
  const convlab::testing::TemporaryFolder folder;
  for (const ClassPicture& picture : class_pictures(some_rows(), some_speeds())) {
    for (const auto& file : draw_chart(picture.chart, "made up", picture.stem, folder.path())) {
      CHECK(std::filesystem::file_size(file) > 1000);
    }
  }
}
