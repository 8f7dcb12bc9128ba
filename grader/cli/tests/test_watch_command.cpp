#include <filesystem>
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

TEST_CASE("grader watch: a file that is saved ends the check of the old one") {
  const SmallCourse course("plain_loops");
  const auto folder = course.build() / "bin";
  std::filesystem::rename(folder / "grader", folder / "own");
  // The first check would never end.
  write_atomically(folder / "grader",
                   "#!/bin/sh\n[ -e ../began ] && echo second && exit\ntouch ../began '" +
                       course.source().string() + "'\nsleep 1000\n");
  std::filesystem::permissions(folder / "grader", std::filesystem::perms::owner_all);
  const CommandResult run = course.shell("./own watch m1 --batches 1 --checks 1");
  INFO(run.out);
  CHECK(run.exit_code == 0);
  CHECK(contains(run.out, "A file was saved: the check begins again.\n"));
  CHECK(contains(run.out, "\nsecond\n"));
}

TEST_CASE("grader watch: ends politely") {
  const SmallCourse course("wrong_borders");
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
