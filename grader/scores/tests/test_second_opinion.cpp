// What becomes of a GPU's finding and of an emulated device's, without either.
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/scores/second_opinion.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::testing::contains;

namespace {

std::optional<Finding> of(const std::string& id) {
  return finding(id, "Seen there.");
}

Race race(bool is_between_warps) {
  return {.finding = finding("E-race", "Two threads."), .is_between_warps = is_between_warps};
}

}  // namespace

TEST_CASE("second opinion: a GPU's finding that is certain and complete is not asked about") {
  for (const char* id : {"E-exit", "E-not-implemented"}) CHECK_FALSE(asks_emulated(of(id)));
  for (const char* id : {"E-wrong", "E-launch", "E-cuda-call", "E-outside", "E-timeout"})
    CHECK(asks_emulated(of(id)));
  CHECK(asks_emulated(std::nullopt));
}

TEST_CASE("second opinion: limits of the emulation are no findings") {
  for (const char* id : {"E-unsupported", "E-timeout", "E-slow", "E-memory"}) {
    CHECK_FALSE(rehearsal_of(of("E-wrong"), of(id), std::nullopt));
    CHECK_FALSE(rehearsal_of(std::nullopt, of(id), std::nullopt));
  }
  // Only the emulated device knows the line of an endless loop, or that a barrier is never met.
  CHECK(rehearsal_of(of("E-timeout"), of("E-timeout"), std::nullopt));
  CHECK(rehearsal_of(of("E-timeout"), of("E-barrier"), std::nullopt)->id == "E-barrier");
  // What only the emulated device reports must be able to hide on a GPU.
  CHECK_FALSE(rehearsal_of(std::nullopt, of("E-launch"), std::nullopt));
  CHECK(rehearsal_of(std::nullopt, of("E-barrier"), std::nullopt)->id == "E-barrier");
}

TEST_CASE(
    "second opinion: what only the emulated compiler refuses explains a fault, nothing else") {
  const auto told = rehearsal_of(of("E-outside"), of("E-build"), std::nullopt);
  REQUIRE(told);
  CHECK(told->title == "it should not compile");
  CHECK(contains(told->seen, "on the GPU it ended with E-outside"));
  CHECK_FALSE(rehearsal_of(of("E-wrong"), of("E-build"), std::nullopt));
  CHECK_FALSE(rehearsal_of(std::nullopt, of("E-build"), std::nullopt));
  const Opinion opinion = judge(of("E-outside"), *told, std::nullopt, Rules::kWorkbook);
  CHECK(opinion.finding->seen == told->seen);
}

TEST_CASE("second opinion: errors that no rounding explains may come from a race") {
  Finding found = *of("E-precision");
  CHECK(may_be_luck(found));
  found.is_proved = true;
  CHECK_FALSE(may_be_luck(found));
}

TEST_CASE("second opinion: a race between warps is told as the cause of wrong numbers") {
  const auto told = rehearsal_of(of("E-wrong"), of("E-wrong"), race(true));
  REQUIRE(told);
  CHECK(told->id == "E-race");
  CHECK(contains(told->seen, "The check saw: Seen there."));
  // Of a warp only where nothing else is found.
  CHECK(rehearsal_of(of("E-wrong"), of("E-wrong"), race(false))->id == "E-wrong");
  CHECK(rehearsal_of(of("E-wrong"), std::nullopt, race(false))->id == "E-race");
}

TEST_CASE("second opinion: the emulated finding names the device if the two differ") {
  const auto text = [](const char* gpu, const char* emulated) {
    return judge(of(gpu), *of(emulated), std::nullopt, Rules::kWorkbook).finding->seen;
  };
  CHECK(text("E-wrong", "E-wrong") == "Seen there.");
  CHECK(contains(text("E-wrong", "E-outside"), "the GPU reported E-wrong."));
  // A wrong output has another cause than memory that stays allocated.
  CHECK(judge(of("E-wrong"), *of("E-leak"), std::nullopt, Rules::kWorkbook).finding->id ==
        "E-wrong");
}

TEST_CASE("second opinion: what the GPU forgives is a warning under the course's rules") {
  const Luck luck{.finding = finding("E-warp-sync", "By luck.")};
  for (const Rules rules : {Rules::kWorkbook, Rules::kCourse}) {
    const bool is_warning = rules == Rules::kCourse;
    const Opinion forgiven = judge(std::nullopt, *of("E-outside"), luck, rules);
    CHECK(forgiven.finding->id == "E-warp-sync");
    CHECK(forgiven.is_warning == is_warning);
    CHECK(judge(std::nullopt, *of("E-race"), std::nullopt, rules).is_warning == is_warning);
    CHECK_FALSE(judge(std::nullopt, *of("E-wrong"), std::nullopt, rules).finding);
    // Wrong on the GPU, too: then it is no warning.
    CHECK_FALSE(judge(of("E-wrong"), *of("E-outside"), luck, rules).is_warning);
  }
}
