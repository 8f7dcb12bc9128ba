// The reference solutions of milestones 2 to 4, emulated: every stage classifies as milestone 1.
#include <regex>
#include <string>

#include "common/base/tests/support/catch.hpp"
#include "common/program/tests/lab.hpp"
#include "common/result/result.hpp"

using namespace convlab;
using convlab::testing::CommandResult;
using convlab::testing::Lab;

namespace {

std::ptrdiff_t count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {});
}

}  // namespace

TEST_CASE("device references: as many images right as on the CPU, and no time") {
  const Lab lab(24);
  const auto result_of = [&](const std::string& program) {
    const auto file = lab.folder() / (program + ".json");
    const CommandResult run =
        lab.run(program + " 24 --all --network sp19 --json '" + file.string() + "'");
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    return read_result(file);
  };
  const Result truth = result_of("m1-reference");
  for (const char* program :
       {"m2-reference-emulated", "m3-reference-emulated", "m4-reference-emulated"}) {
    const Result result = result_of(program);
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

TEST_CASE("device references: a profile counts launches and copies, of every stage") {
  const Lab lab(8);
  const CommandResult run = lab.run("m2-reference-emulated 8 --network sp19 --profile");
  INFO(run.out << run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(count(run.out, "Kernels \\(emulated: launches, no times\\)\n       2  conv_forward\n") ==
        1);
  // Input and weights of two layers there, their outputs back.
  CHECK(count(run.out, "       4 .* MB  host to device\n") == 1);
  CHECK(count(run.out, "       2 .* MB  device to host\n") == 1);
  const CommandResult all = lab.run("m3-reference-emulated 2 --network sp19 --all --profile");
  CHECK(all.exit_code == 0);
  CHECK(count(all.out, "\nStage ") == 4);
  CHECK(count(all.out, "\nKernels") == 4);
}
