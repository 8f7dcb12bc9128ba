// Disks that are really full, and folders that are really read-only: small ones, mounted for the
// test in a namespace of its own.
#include <cstdlib>
#include <filesystem>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/result.hpp"
#include "grader/cli/tests/small_course.hpp"

using namespace convlab;
using convlab::testing::contains;
using grader::SmallCourse;
using testing::CommandResult;

namespace {

const char* const kNoMount = "nobody may mount a disk here";

bool can_mount() {
  static const bool can =
      std::system("unshare --map-root-user --mount mount -t tmpfs none /mnt >/dev/null 2>&1") == 0;
  return can;
}

struct Disk {
  std::string options;
  std::string reason;  ///< what the grader prints about it
};

// Filled completely before the command runs.
const Disk kFull{"size=4k", "No space left on device; free some space, then run this again."};
const Disk kReadOnly{
    "ro", "Read-only file system; name a folder that you may write to, or change its permissions."};

/// Runs a command with the disk at `place` (from bin/), which lists what is there afterwards.
CommandResult run_with(const SmallCourse& course, const Disk& disk, const std::string& place,
                       const std::string& command) {
  write_atomically(
      course.tools() / "script",
      "mkdir -p " + place + " && mount -t tmpfs -o " + disk.options + " none " + place +
          " || exit 99\n" +
          (disk.options == kFull.options ? "head -c 4096 /dev/zero >" + place + "/full\n" : "") +
          command + "\ncode=$?\nrm -f " + place + "/full\necho \"left: $(ls -A " + place +
          ")\"\nexit $code\n");
  return course.shell("unshare --map-root-user --mount sh '" +
                      (course.tools() / "script").string() + "'");
}

// One sentence, nothing half-written.
void check_told(const CommandResult& run, const std::string& words) {
  INFO(run.out);
  CHECK(run.exit_code == 3);
  CHECK(contains(run.out, "grader: Cannot write "));
  CHECK(contains(run.out, words));
  CHECK(contains(run.out, "\nleft: \n"));
}

}  // namespace

TEST_CASE("storage: a result that cannot be written is told, and an earlier one stays") {
  if (!can_mount()) CONVLAB_SKIP(kNoMount);
  const SmallCourse course("wrong_borders");
  REQUIRE(course.grader("check m1 --batches 1").exit_code == 1);
  const auto file = course.build() / "results" / "m1-student.json";
  const std::string before = read_text(file);
  for (const Disk& disk : {kFull, kReadOnly}) {
    check_told(run_with(course, disk, "../other", "./grader check m1 --json ../other/r.json"),
               "r.json: " + disk.reason);
    check_told(run_with(course, disk, "../results", "./grader check m1 --batches 1"),
               "m1-student.json: " + disk.reason);
    // It keeps watching: the disk may have space again when the file is saved.
    const CommandResult watched =
        run_with(course, disk, "../results", "./grader watch m1 --batches 1 --checks 1");
    INFO(watched.out);
    CHECK(contains(watched.out, disk.reason));
    CHECK(contains(watched.out, "\nleft: \n"));
  }
  CHECK(read_text(file) == before);
}

TEST_CASE("storage: reset keeps the work where no backup can be written") {
  if (!can_mount()) CONVLAB_SKIP(kNoMount);
  const SmallCourse course("plain_loops");
  write_atomically(course.source(), "// my work\n");
  const std::string folder = course.source().parent_path().string();
  const std::string own = "cp -r '" + folder + "' ../own && mount -t tmpfs -o size=1m none '" +
                          folder + "' && cp -r ../own/. '" + folder + "'/ && ";
  for (const auto& [spoil, reason] :
       {std::pair{"dd if=/dev/zero of='" + folder + "'/full bs=4k status=none", kFull.reason},
        std::pair{"mount -o remount,ro '" + folder + "'", kReadOnly.reason}}) {
    std::filesystem::remove_all(course.build() / "own");
    write_atomically(course.tools() / "script",
                     own + spoil + "; ./grader reset m1 --yes; code=$?; cat '" +
                         course.source().string() + "'; ls -A '" + folder + "'; exit $code");
    const CommandResult run = course.shell("unshare --map-root-user --mount sh '" +
                                           (course.tools() / "script").string() + "' 2>&1");
    INFO(run.out);
    CHECK(run.exit_code == 3);
    CHECK(contains(run.out, reason + "\n// my work\n"));
    CHECK_FALSE(contains(run.out.substr(run.out.find("// my work")), ".backup-"));
  }
}

TEST_CASE("storage: without space for the submission's folder nothing is judged") {
  if (!can_mount()) CONVLAB_SKIP(kNoMount);
  const SmallCourse course("plain_loops");
  const CommandResult run = run_with(course, {"nr_inodes=1", ""}, "../temporary",
                                     "TMPDIR=$PWD/../temporary ./grader check m1 --batches 1");
  INFO(run.out);
  CHECK(run.exit_code == 3);
  CHECK(contains(run.out, "grader: Cannot make the temporary folder "));
  CHECK(contains(run.out, ": No space left on device; free some "));
  CHECK_FALSE(std::filesystem::exists(course.build() / "results"));
}

TEST_CASE("storage: a compiler without space is no mistake in the source") {
  if (!can_mount()) CONVLAB_SKIP(kNoMount);
  const SmallCourse course("plain_loops");
  const std::filesystem::path build = std::filesystem::path(CONVLAB_BINARY_DIR).parent_path();
  std::filesystem::create_symlink(build / "custom_submission",
                                  course.build() / "custom_submission");
  const std::string check =
      "./grader check m1 --batches 1 --solution " CONVLAB_BINARY_DIR "/../tests/cases/throws.cpp";
  for (const char* size : {"8k", "16k"}) {
    const CommandResult run =
        run_with(course, {std::string("size=") + size, ""}, "../sources", check);
    INFO(run.out);
    CHECK(run.exit_code == 3);
    CHECK(contains(run.out, "Nothing can be compiled in "));
    CHECK(contains(run.out, "/build/sources: No space left on device; free some space"));
    CHECK(contains(run.out, "\nleft: \n"));
  }
  const CommandResult read_only = run_with(course, kReadOnly, "../sources", check);
  INFO(read_only.out);
  CHECK(read_only.exit_code == 3);
  CHECK(contains(read_only.out, "/build/sources: Read-only file system."));
}
