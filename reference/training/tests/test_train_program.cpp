// The program train, end to end, on a synthetic data set.

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/run_command.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/tests/made_up_data.hpp"
#include "common/network/preset.hpp"

using namespace convlab;
using Catch::Matchers::ContainsSubstring;
using convlab::testing::CommandResult;
using convlab::testing::run_command;
namespace fs = std::filesystem;

namespace {

/// A folder with a data set and a preset; commands run in it.
class Workplace {
 public:
  Workplace() {
    write_dataset(folder_.path() / "data", Split::kTrain, synthetic_dataset(600, 1));
    write_dataset(folder_.path() / "data", Split::kTest, synthetic_dataset(200, 2));
    std::ofstream(path("tiny.json")) << R"({"name": "tiny", "title": "For tests", "image_size": 28,
        "classes": 10, "layers": [
          {"type": "conv", "out_channels": 4, "kernel": 5},
          {"type": "activation", "function": "relu"},
          {"type": "pool", "function": "max", "size": 4, "stride": 4},
          {"type": "dense", "units": 10}]})";
  }

  [[nodiscard]] fs::path path(const std::string& name) const { return folder_.path() / name; }

  /// Runs a shell command; $train is the program, on the data set here.
  [[nodiscard]] CommandResult run(const std::string& command) const {
    return run_command("cd '" + folder_.path().string() +
                       "' && train='" CONVLAB_BINARY_DIR
                       "/train' && export CONVLAB_DATA=data OMP_WAIT_POLICY=passive && " +
                       command);
  }

 private:
  convlab::testing::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("train: preset in, weights out") {
  const Workplace here;
  const CommandResult made =
      here.run("$train tiny.json --epochs 3 --batch 20 --lr 5e-3 --output tiny.clw");
  REQUIRE(made.exit_code == 0);
  int correct = 0;
  REQUIRE(std::sscanf(made.out.c_str(), "tiny: %d of 200 test images", &correct) == 1);
  CHECK(correct > 150);
  CHECK_THAT(made.err,
             ContainsSubstring("epoch 1/3: loss ") && ContainsSubstring("\nepoch 3/3: loss "));
  const CommandResult kept = here.run("$train tiny.json --keep --output tiny.clw");
  CHECK(kept.exit_code == 0);
  CHECK(kept.out == made.out);
}

TEST_CASE("train: one thread and many give the same weights, another seed others") {
  const Workplace here;
  const auto weights = [&here](const std::string& variables, const std::string& seed) {
    REQUIRE(
        here.run(variables + " $train tiny.json --epochs 1 --force --output x.clw --seed " + seed)
            .exit_code == 0);
    return read_text(here.path("x.clw"));
  };
  const std::string one = weights("OMP_NUM_THREADS=1", "7");
  CHECK(one == weights("OMP_NUM_THREADS=5", "7"));
  CHECK(one != weights("", "8"));
  const CommandResult again = here.run("$train tiny.json --output x.clw");
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.err, ContainsSubstring("x.clw exists") && ContainsSubstring("--force"));
}

TEST_CASE("train: help, and what cannot be done, in one sentence") {
  const Workplace here;
  CHECK_THAT(here.run("$train --help").out,
             ContainsSubstring("Examples:") && ContainsSubstring("--limit"));
  const auto complaint = [&here](const std::string& arguments) {
    const CommandResult run = here.run("$train " + arguments);
    CHECK(run.exit_code == 2);
    return run.err;
  };
  CHECK_THAT(complaint("nothing"), ContainsSubstring("no network preset 'nothing'"));
  CHECK_THAT(complaint("tiny.json --seed -1"), ContainsSubstring("is too small"));
  CHECK_THAT(complaint("tiny.json --epochs 0 --output x"), ContainsSubstring("not in range"));
  CHECK_THAT(complaint("tiny.json --lr 1e30 --output x"),
             ContainsSubstring("The loss is no longer finite"));
  CHECK_FALSE(fs::exists(here.path("x")));
}

TEST_CASE("docs: the table of committed networks is what their result files say") {
  const fs::path root = CONVLAB_SOURCE_DIR;
  const std::string page = read_text(root / "docs" / "training.md");
  int rows = 0;
  for (const std::string& name : preset_names()) {
    if (page.find("| `" + name + "` | ") == std::string::npos) continue;  // a network of your own
    ++rows;
    const auto result = nlohmann::json::parse(
        read_text(root / "reference" / "training" / "results" / (name + ".json")));
    const auto& settings = result["settings"];
    CHECK_THAT(page, ContainsSubstring("| `" + name + "` | " + result["test"]["correct"].dump() +
                                       " | `" + name + " --epochs " + settings["epochs"].dump()) &&
                         ContainsSubstring("--seed " + settings["seed"].dump() + "` |"));
  }
  CHECK(rows >= 8);
}
