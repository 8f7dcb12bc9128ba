// The real executables of milestones 2 to 4, on machines with and without a GPU.
#include <string>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/run_command.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/data/tests/made_up_data.hpp"
#include "common/result/result.hpp"

using namespace convlab;
using convlab::testing::CommandResult;
using convlab::testing::contains;
using convlab::testing::run_command;
using convlab::testing::TemporaryFolder;

namespace {

// Runs a program on a small generated data set, so that no test needs an installed one. The
// variable hides a GPU of this machine.
class Lab {
 public:
  Lab() { write_dataset(folder_.path(), Split::kTest, synthetic_dataset(20, 1)); }

  [[nodiscard]] CommandResult run(const std::string& command) const {
    return run_command("CUDA_VISIBLE_DEVICES=-1 CONVLAB_DATA='" + folder_.path().string() +
                       "' " CONVLAB_BINARY_DIR "/" + command);
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("device programs: emulated, no time is shown") {
  const Lab lab;
  const CommandResult run = lab.run("m2 8 --device emulated --network sp19");
  CHECK(run.exit_code == 1);
  CHECK(
      run.err ==
      "m2: milestones/m2_gpu_baseline/conv_forward.cu still calls convlab::not_implemented, which "
      "ends the program: write your code in the place of that line, build, and run this "
      "again.\n");
  CHECK(run.out ==
        "Test batch size: 8\nLoading fashion-mnist data...Done\nLoading model...Done\n"
        "Conv-GPU==\n");
}

TEST_CASE("device programs: every hand-out fails politely and names its file") {
  const Lab lab;
  struct HandOut {
    const char* command;
    const char* file;
  };
  for (const HandOut& hand_out :
       {HandOut{"m3 5", "milestones/m3_memory/conv_forward.cu"},
        HandOut{"m4 5 --stage im2col-gemm", "milestones/m4_optimizations/stages/im2col_gemm.cu"},
        HandOut{"m4 5 --stage fused-gemm", "milestones/m4_optimizations/stages/fused_gemm.cu"},
        HandOut{"m4 5 --stage tensor-cores-fp16",
                "milestones/m4_optimizations/stages/tensor_cores_fp16.cu"}}) {
    const CommandResult run = lab.run(hand_out.command + std::string(" --device emulated"));
    INFO(run.err);
    CHECK(run.exit_code == 1);
    CHECK(contains(run.err, hand_out.file + std::string(" still calls convlab::not_implemented")));
  }
}

TEST_CASE("device programs: without a GPU, auto emulates and gpu is refused in one sentence") {
  const Lab lab;
  const CommandResult automatic = lab.run("m2 --list");
  CHECK(automatic.exit_code == 0);
  CHECK(contains(automatic.out, "baseline"));
  const CommandResult refused = lab.run("m2 5 --device gpu");
  CHECK(refused.exit_code == 3);
  CHECK(refused.out.empty());
  CHECK((contains(refused.err, "m2: No CUDA device answered: ") ||
         contains(refused.err, "m2: No GPU answers on this machine; leave the option out")));
  CHECK(lab.run("m2-emulated 5 --device gpu").exit_code == 3);
  CHECK(lab.run("m2 5 --device tpu").exit_code == 2);
}

TEST_CASE("device programs: the CPU's programs take no device") {
  CHECK(Lab().run("m1 5 --device gpu").exit_code == 2);
}
