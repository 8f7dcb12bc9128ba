#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/result.hpp"
#include "grader/checks/result/check_result.hpp"
#include "grader/cli/tests/small_course.hpp"

using namespace convlab;
using convlab::testing::contains;
using grader::SmallCourse;
using testing::CommandResult;

namespace {

// A check that takes a second or so and writes a result at its end.
const std::string kCheck = "./grader check m1 --no-speed --batches 1 --seed 5";

}  // namespace

TEST_CASE("reliability: kill -9 at any moment leaves files and earlier results whole") {
  const SmallCourse course("plain_loops");
  const auto file = course.build() / "results" / "m1-student.json";
  REQUIRE(course.shell(kCheck).exit_code == 0);
  const std::string source = read_text(course.source());
  const grader::CheckResult before = grader::read_check_result(file);
  constexpr int kMoments = 12;
  for (int moment = 0; moment < kMoments; ++moment) {
    CAPTURE(moment);
    // Later and later, from before the child starts to the moment when the result is written.
    const std::string delay = std::to_string(moment / 10) + "." + std::to_string(moment % 10);
    course.shell(kCheck + " >out & pid=$!; sleep " + delay + "; kill -9 $pid; wait $pid");
    CHECK(read_text(course.source()) == source);
    const grader::CheckResult check = grader::read_check_result(file);
    CHECK(check.result.verdict == Verdict::kPassed);
    CHECK(to_json(grader::CheckResult{.cases = check.cases}) ==
          to_json(grader::CheckResult{.cases = before.cases}));
  }
  // In the second half of a check: kill it when it starts to print the network runs.
  course.shell(kCheck +
               " >out & pid=$!; until grep -sq 'PASSED\\|network' out; do sleep 0.01; done; "
               "kill -9 $pid; wait $pid");
  CHECK(read_result(file).verdict == Verdict::kPassed);
  // The truncated file does not disturb later runs.
  CHECK(course.shell(kCheck).exit_code == 0);
}

TEST_CASE("reliability: a child that is killed is a finding, not the end of the grader") {
  const SmallCourse course("endless_loop");
  const auto file = course.build() / "results" / "m1-student.json";
  for (int round = 0; round < 3; ++round) {
    const CommandResult run = course.shell(
        "./grader check m1 --batches 1 >out & pid=$!; "
        "for i in $(seq 300); do sleep 0.1; child=$(cat /proc/$pid/task/*/children) && "
        "[ -n \"$child\" ] && break; done; "
        "sleep 0." +
        std::to_string(round) + "; kill -9 $child; wait $pid; code=$?; cat out; exit $code");
    INFO(run.out);
    CHECK(run.exit_code == 1);
    CHECK(contains(run.out, "NOT PASSED"));
    CHECK(grader::read_check_result(file).findings.size() == 1);
  }
}

TEST_CASE("reliability: a killed grader leaves nothing of its build at work") {
  const SmallCourse course("plain_loops");
  course.set_cmake("sleep 1000 & echo $! >../work; wait");
  const CommandResult run =
      course.shell(kCheck +
                   " >out & pid=$!; until [ -s ../work ]; do sleep 0.1; done; kill -9 $pid; "
                   "while kill -0 $(cat ../work); do sleep 0.1; done");
  CHECK(contains(run.out, "No such process"));
}

TEST_CASE("reliability: two graders at once do not disturb each other") {
  const SmallCourse course("plain_loops");
  course.set_cmake("mkdir ../building || exit 7; sleep 0.3; rmdir ../building");
  const CommandResult run = course.shell(kCheck + " >first & one=$!; " + kCheck +
                                         " >second & two=$!; wait $one; a=$?; wait $two; "
                                         "b=$?; cat first second; exit $((a + b))");
  INFO(run.out);
  CHECK(run.exit_code == 0);  // and the two builds ran one after the other
  CHECK(read_result(course.build() / "results" / "m1-student.json").verdict == Verdict::kPassed);
  CHECK(contains(run.out, "PASSED"));
  CHECK_FALSE(contains(run.out, "E-"));
}

TEST_CASE("reliability: where a result cannot be written, that is said") {
  const SmallCourse course("wrong_borders");
  const CommandResult full = course.grader("check m1 --batches 1 --json /dev/full");
  INFO(full.out);
  CHECK(full.exit_code == 3);
  CHECK(contains(full.out,
                 "grader: Cannot write /dev/full: No space left on device; free some space"));
}
