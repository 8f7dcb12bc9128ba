// The reference solutions of milestones 2 to 4, emulated: every stage classifies as milestone 1.
#include <string>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/run_command.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/data/tests/made_up_data.hpp"
#include "common/result/result.hpp"

using namespace convlab;
using convlab::testing::CommandResult;
using convlab::testing::run_command;
using convlab::testing::TemporaryFolder;

namespace {

Result result_of(const TemporaryFolder& folder, const std::string& program) {
  const auto file = folder.path() / (program + ".json");
  const CommandResult run =
      run_command("CONVLAB_DATA='" + folder.path().string() + "' " CONVLAB_BINARY_DIR "/" +
                  program + " 24 --all --network sp19 --json '" + file.string() + "'");
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  return read_result(file);
}

}  // namespace

TEST_CASE("device references: as many images right as on the CPU, and no time") {
  const TemporaryFolder folder;
  write_dataset(folder.path(), Split::kTest, synthetic_dataset(24, 1));
  const Result truth = result_of(folder, "m1-reference");
  for (const char* program :
       {"m2-reference-emulated", "m3-reference-emulated", "m4-reference-emulated"}) {
    const Result result = result_of(folder, program);
    REQUIRE_FALSE(result.runs.empty());
    for (const RunResult& run : result.runs) {
      INFO(program << " " << run.stage.id);
      CHECK(run.device == Device::kEmulated);
      REQUIRE(run.accuracy);
      CHECK(run.accuracy->correct == truth.runs.front().accuracy->correct);
      REQUIRE(run.layers.size() == 2);
      CHECK(run.layers[0].op_ms.empty());
      CHECK(run.layers[0].layer_ms.empty());
    }
  }
}

TEST_CASE("device references: a profile counts launches and copies") {
  const TemporaryFolder folder;
  write_dataset(folder.path(), Split::kTest, synthetic_dataset(8, 1));
  const CommandResult run =
      run_command("CONVLAB_DATA='" + folder.path().string() +
                  "' " CONVLAB_BINARY_DIR "/m2-reference-emulated 8 --network sp19 --profile");
  INFO(run.out << run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.find("Kernels (emulated: launches, no times)\n       2  conv_forward\n") !=
        std::string::npos);
  // Input and weights of two layers there, their outputs back.
  CHECK(run.out.find("       4 ") != std::string::npos);
  CHECK(run.out.find(" MB  host to device\n") != std::string::npos);
  CHECK(run.out.find("       2 ") != std::string::npos);

  // With --all every stage has tables of its own.
  const CommandResult all = run_command("CONVLAB_DATA='" + folder.path().string() +
                                        "' " CONVLAB_BINARY_DIR
                                        "/m3-reference-emulated 2 --network sp19 --all --profile");
  CHECK(all.exit_code == 0);
  std::size_t stages = 0;
  std::size_t tables = 0;
  for (auto at = all.out.find("\nStage "); at != std::string::npos;
       at = all.out.find("\nStage ", at + 1)) {
    ++stages;
  }
  for (auto at = all.out.find("\nKernels"); at != std::string::npos;
       at = all.out.find("\nKernels", at + 1)) {
    ++tables;
  }
  CHECK(stages == 4);
  CHECK(tables == stages);
}
