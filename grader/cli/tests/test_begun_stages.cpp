#include <filesystem>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/whole_file.hpp"
#include "grader/cli/tests/small_course.hpp"

using namespace convlab;
using convlab::testing::contains;
using grader::SmallCourse;
using testing::CommandResult;
namespace fs = std::filesystem;

TEST_CASE("grader check: a stage with another name than the points' is told to take it back") {
  const SmallCourse course("plain_loops");
  write_atomically(course.source(), "// my work\n");
  CommandResult run = course.grader("check m1 --batches 3");
  INFO(run.out);
  CHECK_FALSE(contains(run.out, "gives no points"));
  const fs::path rules = course.source().parent_path() / "scores.json";
  std::string text = read_text(rules);
  for (std::size_t at = 0; (at = text.find("\"stage\": \"baseline\"", at)) != std::string::npos;) {
    text.replace(at, 19, "\"stage\": \"loops\"");
  }
  write_atomically(rules, text);
  run = course.grader("check m1 --batches 3");
  INFO(run.out);
  CHECK(contains(run.out, "Your stage is called baseline, so it gives no points"));
  CHECK(contains(run.out, ".id = \"loops\""));
}

TEST_CASE("grader check: of a choice of stages only those that were begun are compiled") {
  const SmallCourse course("plain_loops");
  const char* const m4 = "milestones/m4_optimizations";
  fs::copy(fs::path(CONVLAB_SOURCE_DIR) / m4, course.course() / m4, fs::copy_options::recursive);
  fs::create_directories(course.build() / "custom_submission");  // the parts are built
  fs::remove_all(course.course() / m4 / "puzzles");              // they would come first
  CommandResult run = course.grader("check m4 --batches 1");
  INFO(run.out);
  CHECK(run.exit_code == 1);
  CHECK(contains(run.out, "No stage of m4 is begun. Next: build/bin/grader next"));
  // Then it goes on to compile, which this build cannot.
  const fs::path half = course.course() / m4 / "stages" / "half.cu";
  const std::string untouched = read_text(half);
  write_atomically(half, untouched + "int begun = ;\n");
  run = course.grader("check m4 --batches 1");
  INFO(run.out);
  CHECK_FALSE(contains(run.out, "is begun"));
  CHECK(run.exit_code == 3);
  CHECK(contains(run.out, "has not recorded how it compiles"));
  write_atomically(half, untouched);
  run = course.grader("check m4 --batches 1");
  INFO(run.out);
  CHECK(contains(run.out, "No stage of m4 is begun"));
}
