// A check has one deadline for all that it does.
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "grader/judge/grade.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::testing::contains;

TEST_CASE("deadline: it ends a check that has begun, with what was checked till then") {
  GradeRequest soon{.milestone = "m1",
                    .work = {.program = SUBMISSIONS "/plain_loops"},
                    .batches = {1},
                    .seed = 1};
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
  CHECK(contains(check.findings[0].seen.text(), "The whole check took more than 3 hours"));
}
