// The hand-out maker, on a copy of this tree.
#include <filesystem>

#include "common/file/whole_file.hpp"
#include "common/process/run_process.hpp"
#include "common/testing/catch.hpp"
#include "common/testing/contains.hpp"
#include "common/testing/temporary_folder.hpp"

using namespace convlab;
using convlab::testing::contains;
namespace fs = std::filesystem;

namespace {

/// A git working tree with the committed files of this one; none where this is no git tree.
struct Copy {
  convlab::testing::TemporaryFolder folder;
  fs::path tree = folder.path() / "tree";
  bool made = run_process({.words = {"git", "clone", "--quiet", CONVLAB_SOURCE_DIR, tree.string()}})
                  .succeeded() &&
              fs::exists(tree / "reference/solutions");

  FinishedProcess make(const std::string& out, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {CONVLAB_BINARY_DIR "/grader",
                                      "handout",
                                      "make",
                                      (folder.path() / out).string(),
                                      "--term",
                                      "SP27",
                                      "--no-build"};
    words.insert(words.end(), more.begin(), more.end());
    return run_process({.words = words,
                        .environment = {"CONVLAB_HOME=" + tree.string()},
                        .output = Command::Output::kTogether});
  }
};

}  // namespace

TEST_CASE("grader handout: the tree without solutions, the same bytes each time") {
  const Copy copy;
  if (!copy.made) {
    WARN("skipped: this is no git working tree with solutions");
    return;
  }
  REQUIRE(copy.make("a").exit_code == 0);
  REQUIRE(copy.make("b").exit_code == 0);
  const fs::path a = copy.folder.path() / "a";
  CHECK(fs::exists(a / "convlab-SP27/milestones/m4_optimizations/README.md"));
  CHECK_FALSE(fs::exists(a / "convlab-SP27/reference/solutions"));
  CHECK(read_text(a / "convlab-SP27.tar.gz") ==
        read_text(copy.folder.path() / "b/convlab-SP27.tar.gz"));
  CHECK(contains(copy.make("a").output, "exists already"));
  CHECK(copy.make("c", {"--milestones", "m1"}).exit_code == 0);
  const fs::path only_m1 = copy.folder.path() / "c/convlab-SP27/milestones";
  CHECK_FALSE(fs::exists(only_m1 / "m2_gpu_baseline"));
  CHECK_FALSE(contains(read_text(only_m1 / "handout.sha256"), "m2_gpu_baseline"));
  CHECK(copy.make("d", {"--milestones", "m9"}).exit_code == 2);
}

TEST_CASE("grader handout: an answer is found, also under other names") {
  const Copy copy;
  if (!copy.made) {
    WARN("skipped: this is no git working tree with solutions");
    return;
  }
  std::string text = read_text(copy.tree / "reference/solutions/m1_cpu_baseline/conv_forward.cpp");
  for (auto at = text.find("output"); at != std::string::npos; at = text.find("output", at + 1)) {
    text.replace(at, 6, "result");
  }
  write_atomically(copy.tree / "milestones/m1_cpu_baseline/conv_forward.cpp", text);
  fs::copy_file(copy.tree / "reference/solutions/m2_gpu_baseline/conv_forward.cu",
                copy.tree / "milestones/m2_gpu_baseline/conv_forward.cu",
                fs::copy_options::overwrite_existing);
  const FinishedProcess run = copy.make("a");
  CHECK(run.exit_code == 1);
  CHECK(contains(run.output, "m1_cpu_baseline/conv_forward.cpp is much like the solution"));
  CHECK(contains(run.output, "m2_gpu_baseline/conv_forward.cu is a file of the solutions"));
  CHECK_FALSE(fs::exists(copy.folder.path() / "a/convlab-SP27"));
  CHECK_FALSE(fs::exists(copy.folder.path() / "a/convlab-SP27.tar.gz"));
}
