#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/file/whole_file.hpp"
#include "common/result/result.hpp"
#include "common/testing/catch.hpp"
#include "common/testing/contains.hpp"
#include "grader/cli/tests/small_course.hpp"
#include "grader/result/check_result.hpp"

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

// Waits until a file holds some words, at most 60 seconds. The file must not be there from before.
std::string until(const std::string& words, const std::string& file) {
  return "for i in $(seq 600); do grep -q '" + words + "' " + file + " && break; sleep 0.1; done";
}

std::vector<std::filesystem::path> backups(const SmallCourse& course) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(course.source().parent_path())) {
    if (contains(entry.path().filename().string(), ".backup-")) found.push_back(entry.path());
  }
  return found;
}

}  // namespace

TEST_CASE("grader reset: asks, keeps a backup, puts the file back byte for byte") {
  const SmallCourse course("plain_loops");
  const std::string handed_out = read_text(course.source());
  CHECK(contains(course.grader("reset m1").out, "Every file of m1 is as it was handed out."));

  write_atomically(course.source(), "// my work\n");
  const CommandResult asked = course.grader("reset m1");
  CHECK(asked.exit_code == 0);
  CHECK(contains(asked.out, "milestones/m1_cpu_baseline/conv_forward.cpp has been changed.\n"));
  CHECK(contains(asked.out, "[y/N] \nNothing was changed.\n"));
  CHECK(read_text(course.source()) == "// my work\n");
  CHECK(contains(course.shell("echo n | ./grader reset m1").out, "Nothing was changed."));
  CHECK(backups(course).empty());

  const CommandResult agreed = course.shell("echo y | ./grader reset m1");
  CHECK(agreed.exit_code == 0);
  CHECK(read_text(course.source()) == handed_out);
  REQUIRE(backups(course).size() == 1);
  CHECK(read_text(backups(course).front()) == "// my work\n");

  // A second one, perhaps in the same second: both backups stay.
  write_atomically(course.source(), "// my second work\n");
  CHECK(course.grader("reset m1 --yes").exit_code == 0);
  CHECK(backups(course).size() == 2);
  std::filesystem::remove(course.source());
  CHECK(contains(course.grader("reset m1 --yes").out, "is missing."));
  CHECK(read_text(course.source()) == handed_out);
}

TEST_CASE("grader reset: an edited copy is no hand-out; without a true one nothing is touched") {
  const SmallCourse course("plain_loops");
  write_atomically(course.source(), "// my work\n");
  write_atomically(course.build() / "pristine/milestones/m1_cpu_baseline/conv_forward.cpp", "no\n");
  const CommandResult run = course.grader("reset m1 --yes");
  CHECK(run.exit_code == 3);
  CHECK(contains(run.out,
                 "There is no copy of milestones/m1_cpu_baseline/conv_forward.cpp as "
                 "handed out"));
  CHECK(read_text(course.source()) == "// my work\n");
}

TEST_CASE("grader submit: only what was checked, and the same bytes for the same files") {
  const SmallCourse course("wrong_borders");
  const CommandResult unchecked = course.grader("submit m1");
  CHECK(unchecked.exit_code == 1);
  CHECK(contains(unchecked.out, "Nothing of m1 was checked yet. Next: build/bin/grader check m1"));

  CHECK(course.grader("check m1 --batches 1").exit_code == 1);
  const CommandResult first = course.grader("submit m1");
  INFO(first.out);
  CHECK(first.exit_code == 0);
  CHECK(contains(first.out, "not passed"));
  const auto archive = course.build() / "submissions" / "m1-submission.tar.gz";
  const std::string bytes = read_text(archive);
  CHECK(course.grader("submit m1 --output ../again.tar.gz").exit_code == 0);
  CHECK(read_text(course.build() / "again.tar.gz") == bytes);

  const CommandResult list = course.shell("tar --list --file " + archive.string());
  CHECK(list.out ==
        "m1-submission/\n"
        "m1-submission/MANIFEST.sha256\n"
        "m1-submission/environment.json\n"
        "m1-submission/milestones/\n"
        "m1-submission/milestones/m1_cpu_baseline/\n"
        "m1-submission/milestones/m1_cpu_baseline/conv_forward.cpp\n"
        "m1-submission/result.json\n");
  CHECK(course
            .shell("tar --extract --directory .. --file " + archive.string() +
                   " && cd ../m1-submission && sha256sum --check MANIFEST.sha256")
            .exit_code == 0);
  CHECK(read_text(course.build() / "m1-submission/milestones/m1_cpu_baseline/conv_forward.cpp") ==
        read_text(course.source()));

  write_atomically(course.source(), read_text(course.source()) + "// later\n");
  const CommandResult changed = course.grader("submit m1");
  CHECK(changed.exit_code == 1);
  CHECK(contains(changed.out, "conv_forward.cpp is not the file that was last checked. Next: "));
  CHECK(read_text(archive) == bytes);
  // A check of a program that is older than the file does not count either.
  CHECK(contains(course.grader("check m1 --batches 1 --no-build").out,
                 "conv_forward.cpp is newer than"));
  CHECK(course.grader("submit m1").exit_code == 1);
}

TEST_CASE("grader check: what does not compile gets the compiler's first error") {
  const SmallCourse course("plain_loops");
  course.set_cmake(
      "echo 'ninja: entering'; echo \"a.cpp:3:5: error: expected ';'\"; echo '  x'; "
      "echo '  ^'; exit 1");
  const CommandResult run = course.grader("check m1");
  CHECK(run.exit_code == 1);
  CHECK(contains(run.out,
                 "  E-build  it does not compile\n"
                 "    seen   a.cpp:3:5: error: expected ';'\n"
                 "             x\n"
                 "             ^\n"));
  const auto check = grader::read_check_result(course.build() / "results" / "m1-student.json");
  CHECK(check.findings.at(0).id == "E-build");
  CHECK(check.score->earned() == 0);
}

TEST_CASE("grader check: a missing CMake or compiler is the environment's fault") {
  const SmallCourse course("plain_loops");
  const CommandResult no_cmake = course.shell(
      "mkdir tools && ln -s \"$(command -v sha256sum)\" tools/ && PATH=$PWD/tools "
      "./grader check m1");
  CHECK(no_cmake.exit_code == 3);
  CHECK(contains(no_cmake.out, "CMake is not found; to install it: common/setup/lab setup"));
  // Printed text is no evidence: a source can make a compiler print it.
  course.set_cmake(
      "echo '/bin/sh: 1: /usr/bin/c++: not found'; echo 'No space left on device'; exit 1");
  CHECK(course.grader("check m1").exit_code == 1);
  write_atomically(course.build() / "given_file" / "cpu.compile", "/nonexistent/c++\n");
  const CommandResult no_compiler = course.grader("check m1");
  CHECK(no_compiler.exit_code == 3);
  CHECK(contains(no_compiler.out, "compiler that this build was configured with is gone"));
  CHECK(contains(no_compiler.out, "/nonexistent/c++"));
}

TEST_CASE("grader watch: checks again after a save, shows the first failure, ends politely") {
  const SmallCourse course("wrong_borders");
  const CommandResult run = course.shell(
      "rm -f out; ./grader watch m1 --batches 1 --checks 2 >out & pid=$!; " +
      until("Ctrl-C to end", "out") + "; echo '// saved' >> '" + course.source().string() +
      "'; wait $pid; code=$?; cat out; "
      "exit $code");
  INFO(run.out);
  CHECK(run.exit_code == 0);
  CHECK(count(run.out, "E-borders  ") == 2);
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

TEST_CASE("grader list: a check that reached no stage is told, with its date") {
  const SmallCourse course("plain_loops");
  write_atomically(course.source(), "// my work\n");
  CHECK(course.grader("check m1 --batches 1 --no-build --no-speed").exit_code == 0);
  CHECK(contains(course.grader("list").out, "passed at batch 1  20"));
  course.set_cmake("echo 'a.cpp:1:1: error: no'; exit 1");
  CHECK(course.grader("check m1").exit_code == 1);
  CHECK(contains(course.grader("list").out, "not passed (E-build)  20"));
  const auto json = nlohmann::json::parse(course.grader("list --json").out);
  CHECK(json[0]["stages"][0]["finding"] == "E-build");
  // The first build of all may be the one that failed.
  std::filesystem::remove(course.build() / "bin" / "m1");
  CHECK(contains(course.grader("list").out, ") found E-build"));
  std::filesystem::remove_all(course.build() / "results");
  CHECK(contains(course.grader("list").out, "not built: cmake --build --preset lab"));
}

TEST_CASE("grader list: right numbers alone do not pass") {
  const SmallCourse course("replay_by_shape");
  write_atomically(course.source(), "// my work\n");
  CHECK(course.grader("check m1 --batches 1 --no-build --no-speed").exit_code == 1);
  const std::string list = course.grader("list").out;
  CHECK(contains(list, "not passed (E-"));
  CHECK(contains(list, "0 of 1 stages passed"));
}

TEST_CASE("grader: --json tells programs what the words tell people") {
  const SmallCourse course("wrong_borders");
  const auto json = [&](const std::string& arguments, int exit_code) {
    const CommandResult run = course.grader(arguments);
    CHECK(run.exit_code == exit_code);
    return nlohmann::json::parse(run.out);
  };
  const auto first = json("hint m1 --json", 0);
  CHECK(first["milestone"] == "m1");
  CHECK(first["hints"].size() == 1);
  CHECK(first["all"] >= 3);
  CHECK(json("hint m1 --json", 0)["hints"].size() == 2);
  CHECK(json("hint m1 --json --again", 0)["hints"].size() == 2);

  CHECK(course.grader("check m1 --batches 1").exit_code == 1);
  const auto packed = json("submit m1 --json", 0);
  CHECK(packed["verdict"] == "failed");
  CHECK(packed["points"] < packed["of"]);
  CHECK(packed["sources"][0]["path"] == "milestones/m1_cpu_baseline/conv_forward.cpp");
  CHECK(std::filesystem::exists(packed["archive"].get<std::string>()));

  const auto doctor = nlohmann::json::parse(course.grader("doctor --json").out);
  CHECK(doctor["items"].size() >= 11);
  for (const auto& item : doctor["items"]) {
    CHECK(item["mend"].get<std::string>().empty() == (item["state"] == "ok"));
    CHECK((item["state"] != "ill" || !doctor["well"].get<bool>()));
  }

  const auto lint = json("lint m1 --json --no-references", 1);  // m1 is no hand-out here
  CHECK(lint["whole"] == false);
  CHECK(lint["items"].size() >= 6);
  CHECK(lint["items"][0]["milestone"] == "m1");
}

TEST_CASE("grader list: how far every stage is") {
  const SmallCourse course("wrong_borders");
  CHECK(contains(course.grader("list").out, "as handed out\n"));
  write_atomically(course.source(), "// my work\n");
  CHECK(contains(course.grader("list").out, "not checked yet\n"));
  CHECK(course.grader("check m1 --batches 1").exit_code == 1);
  const std::string checked = course.grader("list").out;
  CHECK(contains(checked, "not passed (E-borders)  20"));
  CHECK(contains(checked, "\n[..............................]  0 of 1 stages passed\n"));
  write_atomically(course.source(), "// more work\n");
  CHECK(contains(course.grader("list").out, "  changed since\n"));
  const auto json = nlohmann::json::parse(course.grader("list --json").out);
  REQUIRE(json.size() == 1);
  CHECK(json[0]["milestone"] == "m1");
  CHECK(json[0]["stages"][0]["state"] == "not passed");
  CHECK(json[0]["stages"][0]["changed"] == true);
}
