// The real executables, as a student meets them.
#include <regex>
#include <string>

#include "common/base/address_sanitizer.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/program/tests/lab.hpp"
#include "common/result/result.hpp"

using namespace convlab;
using convlab::testing::CommandResult;
using convlab::testing::Lab;
using convlab::testing::run_command;

TEST_CASE(
    "m1: the reference prints what the course's program prints, the hand-out fails politely") {
  const Lab lab;
  const CommandResult run = lab.run("m1 50 --solution reference");
  CHECK(run.exit_code == 0);
  CHECK(run.err.empty());
  const std::string head =
      "Test batch size: 50\nLoading fashion-mnist data...Done\nLoading model...Done\nConv-CPU==\n";
  CHECK(run.out.starts_with(head + "Op Time: "));
  const std::string time = "Op Time: [0-9.e+-]+ ms\n";
  CHECK(std::regex_match(
      run.out.substr(head.size()),
      std::regex(time + "Conv-CPU==\n" + time + "\nTest Accuracy: (0\\.[0-9]+|0|1)\n")));
  const CommandResult untouched = lab.run("m1 50");
  CHECK(untouched.exit_code == 1);
  CHECK(untouched.out == head);
  CHECK(
      untouched.err ==
      "m1: milestones/m1_cpu_baseline/conv_forward.cpp still calls convlab::not_implemented, which "
      "ends the program: write your code in the place of that line, build, and run this "
      "again.\n");
}

TEST_CASE("m1: samples go to a result file") {
  const Lab lab;
  const auto file = lab.folder() / "new" / "m1.json";
  const CommandResult run = lab.run(
      "m1 20 --solution reference --all --repeats 3 --network sp19 --json " + file.string());
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.find("(median of 3, middle half ") != std::string::npos);
  const Result result = read_result(file);
  CHECK(result.milestone == "m1");
  CHECK(result.solution == "reference");
  REQUIRE(result.runs.size() >= 2);
  for (const RunResult& stage : result.runs) {
    CHECK(stage.network == "sp19");
    CHECK(stage.batch == 20);
    REQUIRE(stage.layers.size() == 2);
    CHECK(stage.layers[0].op_ms.size() == 3);
    CHECK(stage.layers[1].shape.in_channels == 6);
    REQUIRE(stage.accuracy);
    CHECK(stage.accuracy->total == 20);
    // Every stage computes the same classes.
    CHECK(stage.accuracy->correct == result.runs.front().accuracy->correct);
    REQUIRE(stage.total);
    CHECK(stage.total->peak_memory_mib > 1);
    CHECK(stage.total->elapsed_s > 0);
    CHECK(stage.total->user_s + stage.total->system_s > 0);
  }
}

TEST_CASE("m1: bad input is one sentence") {
  const Lab lab;
  struct Case {
    const char* arguments;
    int exit_code;
    const char* message;
  };
  const Case cases[] = {
      {"0", 2, nullptr},  // the wording depends on CLI11's version
      {"10001", 2, nullptr},
      {"61", 2, "m1: There are 60 images, not 61.\n"},
      {"5 --stage nonesuch", 2,
       "m1: There is no stage 'nonesuch' here; the stages are: baseline.\n"},
      {"5 --network nonesuch", 2,
       "m1: There is no network preset 'nonesuch'; the network presets are: fa16, fa17-high, "
       "fa17-low, fa18, fa19, fa23, lenet5, sp18, sp19.\n"},
      {"5 --network FA-23", 2, "m1: There is no network preset 'FA-23'. Did you mean fa23?\n"},
      {"5 --solution reference --json /proc/nonesuch/m1.json", 3, nullptr},
      {"5 --repeats -1", 2, nullptr},
  };
  for (const Case& bad : cases) {
    const CommandResult run = lab.run("m1 " + std::string(bad.arguments));
    INFO("m1 " << bad.arguments);
    CHECK(run.exit_code == bad.exit_code);
    if (bad.message != nullptr) CHECK(run.err == bad.message);
    CHECK_FALSE(run.err.empty());
    CHECK(run.out.find("Op Time") == std::string::npos);  // the error comes before the work
  }
}

TEST_CASE("m1: missing data names the package and the variable") {
  const CommandResult run =
      run_command("CONVLAB_DATA=/nonexistent " CONVLAB_BINARY_DIR "/m1 5 --solution reference");
  CHECK(run.exit_code == 3);
  CHECK(run.out == "Test batch size: 5\nLoading fashion-mnist data...failed\n");
  CHECK(run.err.find("dataset-fashion-mnist") != std::string::npos);
  CHECK(run.err.find("CONVLAB_DATA") != std::string::npos);
}

TEST_CASE("m1: too little memory is said") {
  if (CONVLAB_ADDRESS_SANITIZER) {
    CONVLAB_SKIP("AddressSanitizer reserves more addresses than the limit of this test leaves");
  }
  // Address space for the program, but not for 10 000 images, or not for their first output.
  for (const auto& [kilobytes, needed] : {std::pair{"250000", "0.30"}, {"1200000", "1.02"}}) {
    const CommandResult run = run_command(std::string("ulimit -v ") + kilobytes + "; " +
                                          CONVLAB_BINARY_DIR "/m1 10000 --solution reference");
    CHECK(run.exit_code == 3);
    CHECK(run.err == std::string("m1: This run needs ") + needed +
                         " GB more memory for one array, and a limit of this process refuses it; "
                         "raise the limit or take a smaller batch.\n");
  }
}
