#include <string>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/whole_file.hpp"
#include "grader/cli/tests/small_course.hpp"

using namespace convlab;
using convlab::testing::contains;
using grader::SmallCourse;
using testing::CommandResult;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

// Waits until a file holds some words, however slow the machine is: ctest has the limit. The file
// must not be there from before.
std::string until(const std::string& words, const std::string& file) {
  return "until grep -sq '" + words + "' " + file + "; do sleep 0.1; done";
}

}  // namespace

TEST_CASE("grader watch: checks again after a save in the middle of a check, ends politely") {
  const SmallCourse course("wrong_borders");
  const CommandResult run =
      course.shell("rm -f out; ./grader watch m1 --batches 1 --checks 2 >out & pid=$!; " +
                   until("Checking", "out") + "; echo '// saved' >> '" + course.source().string() +
                   "'; wait $pid; code=$?; cat out; "
                   "exit $code");
  INFO(run.out);
  CHECK(run.exit_code == 0);
  CHECK(count(run.out, "E-terms  ") == 2);
  CHECK(count(run.out, "    next   ") == 2);
  CHECK_FALSE(contains(run.out, "\033"));

  const CommandResult ended = course.shell(
      "rm -f out; ./grader watch m1 --batches 1 >out & pid=$!; " + until("Ctrl-C to end", "out") +
      "; kill -INT $pid; wait $pid; code=$?; cat out; "
      "exit $code");
  CHECK(ended.exit_code == 0);
  CHECK(contains(ended.out, "\nStopped watching.\n"));

  // In the middle of a build that hangs: neither waits for the other.
  course.set_cmake("sleep 1000");
  const CommandResult building =
      course.shell("rm -f out; ./grader watch m1 >out & pid=$!; " + until("Building", "out") +
                   "; kill -INT $pid; wait $pid; code=$?; cat out; exit $code");
  CHECK(building.exit_code == 0);
  CHECK(contains(building.out, "Stopped watching."));
}

TEST_CASE("grader watch: without a milestone it does what grader next says") {
  const SmallCourse course("wrong_borders");
  write_atomically(course.source(), "// my work\n");
  const CommandResult run = course.shell(
      "rm -f out; ./grader watch --batches 1 >out & pid=$!; " + until("Ctrl-C to end", "out") +
      "; kill -INT $pid; wait $pid; code=$?; cat out; exit $code");
  INFO(run.out);
  CHECK(run.exit_code == 0);
  CHECK(run.out.starts_with("Next: the exercise of m1."));
  CHECK(count(run.out, "E-terms  ") == 1);
  CHECK(contains(run.out, "conv_forward.cpp found E-terms."));
}
