// A check has one deadline for all that it does.
#include <chrono>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "grader/scores/grade.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::testing::contains;

namespace {

GradeRequest request() {
  return {.milestone = "m1",
          .work = {.program = SUBMISSIONS "/plain_loops"},
          .batches = {1},
          .seed = 1};
}

}  // namespace

TEST_CASE("deadline: where it has passed, no case runs") {
  GradeRequest late = request();
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const CheckResult check = grade(late, {});
  CHECK(check.result.verdict == Verdict::kFailed);
  CHECK(check.cases.empty());
  REQUIRE(check.findings.size() == 1);
  CHECK(check.findings[0].id == "E-timeout");
  CHECK(contains(check.findings[0].seen, "The whole check took more than 3 hours"));
}

TEST_CASE("deadline: it also ends a check that has begun, with what was checked till then") {
  GradeRequest soon = request();
  GradeObserver observer;
  // The clock of the grader cannot be moved; so the deadline comes to the clock.
  observer.announce = [&](const std::string& what) {
    if (contains(what, "case 3 of")) soon.deadline = {};
  };
  const CheckResult check = grade(soon, observer);
  CHECK(check.result.verdict == Verdict::kFailed);
  CHECK(check.cases.size() == 3);
  REQUIRE(check.findings.size() == 1);
  CHECK(check.findings[0].id == "E-timeout");
}
