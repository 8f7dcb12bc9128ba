#include "common/base/testing/catch.hpp"
#include "grader/scores/ordered_reports.hpp"

using namespace convlab::grader;

namespace {

/// An observer that records all reports.
GradeObserver into(std::vector<std::string>& told) {
  return {
      .announce = [&](const std::string& what) { told.push_back("… " + what); },
      .cases_passed =
          [&](const convlab::StageInfo& stage, std::size_t cases) {
            told.push_back(stage.id + ": " + std::to_string(cases) + " cases");
          },
      .run_ended = [&](const convlab::RunResult& run) { told.push_back(run.stage.id + " run"); },
      .found = [&](const convlab::StageInfo& stage,
                   const Finding& finding) { told.push_back(stage.id + " " + finding.id); },
      .noted = [&](const convlab::StageInfo& stage,
                   const std::string& text) { told.push_back(stage.id + " " + text); },
      .warned =
          [&](const convlab::StageInfo& stage, const Finding& finding) {
            told.push_back(stage.id + " warned " + finding.id);
          }};
}

convlab::StageInfo stage(const std::string& id) {
  convlab::StageInfo info;
  info.id = id;
  return info;
}

}  // namespace

TEST_CASE("ordered reports: a later stage waits until those before it have ended") {
  std::vector<std::string> told;
  const GradeObserver to = into(told);
  OrderedReports reports(to, 3);
  const auto first = reports.observer_of(0);
  const auto second = reports.observer_of(1);
  const auto third = reports.observer_of(2);
  third.found(stage("c"), {.id = "E-race"});
  reports.end(2);
  second.cases_passed(stage("b"), 29);
  second.announce("b: case 1");
  CHECK(told == std::vector<std::string>{"… b: case 1"});
  first.noted(stage("a"), "slow");
  CHECK(told.back() == "a slow");
  reports.end(0);
  CHECK(told.back() == "b: 29 cases");
  second.warned(stage("b"), {.id = "E-leak"});
  CHECK(told.back() == "b warned E-leak");
  reports.end(1);
  CHECK(told == std::vector<std::string>{"… b: case 1", "a slow", "b: 29 cases", "b warned E-leak",
                                         "c E-race"});
}

TEST_CASE("ordered reports: what is held is a copy") {
  std::vector<std::string> told;
  const GradeObserver to = into(told);
  OrderedReports reports(to, 2);
  const auto second = reports.observer_of(1);
  {
    convlab::StageInfo gone = stage("b");
    second.noted(gone, std::string("kept"));
    gone.id = "overwritten";
  }
  reports.end(0);
  CHECK(told == std::vector<std::string>{"b kept"});
}
