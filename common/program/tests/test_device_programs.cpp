// The real executables of milestones 2 to 4, on machines with and without a GPU.
#include <string>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/program/tests/lab.hpp"

using namespace convlab;
using convlab::testing::CommandResult;
using convlab::testing::contains;
using convlab::testing::Lab;

TEST_CASE("device programs: every hand-out fails politely and names its file; no time is shown") {
  const Lab lab;
  struct HandOut {
    const char* command;
    const char* file;
  };
  for (const HandOut& hand_out :
       {HandOut{"m2 5", "milestones/m2_gpu_baseline/conv_forward.cu"},
        HandOut{"m3 5", "milestones/m3_memory/conv_forward.cu"},
        HandOut{"m4 5 --stage fused-gemm", "milestones/m4_optimizations/stages/fused_gemm.cu"}}) {
    const CommandResult run =
        lab.run(hand_out.command + std::string(" --device emulated --network sp19"));
    CHECK(run.exit_code == 1);
    CHECK(contains(run.err, hand_out.file + std::string(" still calls convlab::not_implemented")));
    CHECK(run.out ==
          "Test batch size: 5\nLoading fashion-mnist data...Done\nLoading model...Done\n"
          "Conv-GPU==\n");
  }
}

TEST_CASE("device programs: without a GPU, auto emulates and gpu is refused in one sentence") {
  const Lab lab;
  const CommandResult automatic = lab.run("m2 --list");
  CHECK(automatic.exit_code == 0);
  CHECK(automatic.out.find("stage ") == 0);
  CHECK(contains(automatic.out, "\nbaseline "));
  const CommandResult refused = lab.run("m2 5 --device gpu");
  CHECK(refused.exit_code == 3);
  CHECK(refused.out.empty());
  CHECK((contains(refused.err, "m2: No CUDA device answered: ") ||
         contains(refused.err, "m2: No GPU answers on this machine; leave the option out")));
  CHECK(lab.run("m2-emulated 5 --device gpu").exit_code == 3);
  CHECK(lab.run("m2 5 --device tpu").exit_code == 2);
  CHECK(lab.run("m1 5 --device gpu").exit_code == 2);
}
