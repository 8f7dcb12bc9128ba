#include "common/base/tests/support/catch.hpp"
#include "grader/checks/result/check_result.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace {

CheckResult example() {
  const ConvShape shape{.batch = 100, .out_channels = 4, .height = 86, .width = 86, .kernel = 7};
  CheckResult check{.result = {.program = "grader check",
                               .milestone = "m1",
                               .created = "2026-11-20T23:40:00Z",
                               .machine = describe_machine(),
                               .verdict = Verdict::kFailed}};
  check.cases.push_back({.stage = "baseline",
                         .name = "stride 4",
                         .shape = shape,
                         .seed = 0xFFFF'FFFF'FFFF'FFFFULL,
                         .exact = true,
                         .error = {.compared = 10, .wrong = 1, .worst_ratio = 0.1, .bound = 32},
                         .verdict = Verdict::kFailed});
  check.findings.push_back({.id = "E-nan",
                            .title = "Not a number",
                            .seen = {"b=0:\n    a.cu:3 | b", {{1, "a.cu", 3}}},
                            .smallest = "B=1 M=1",
                            .alone = "--case 1,1,1,1,1,1,1",
                            .shapes = "It fails exactly if C ≥ 2.",
                            .picture = "    # .",
                            .cause = "0/0",
                            .next = "look",
                            .stage = "s"});
  check.score = Score{{{.stage = "baseline",
                        .item = "cases",
                        .points = 40,
                        .earned = 10,
                        .credit = Credit::kPartial,
                        .yours = "7 of 28",
                        .reference = "28",
                        .why = "E-stride"},
                       {.stage = "baseline",
                        .item = "speed",
                        .batch = 100,
                        .points = 20,
                        .earned = 20,
                        .credit = Credit::kUndecided,
                        .speed = SpeedMeasure{.reference = "openmp",
                                              .yours_ms = {{1.5}, {2.5}},
                                              .reference_ms = {{1}, {2}},
                                              .speed = 0.75,
                                              .low = 0.5,
                                              .high = 1,
                                              .bound_ms = 0.1,
                                              .rounds = 3}},
                       {.stage = "baseline", .item = "network", .batch = 1000, .points = 5}}};
  check.sources = {{.path = "milestones/m1_cpu_baseline/conv_forward.cpp", .sha256 = "ab12"}};
  return check;
}

}  // namespace

TEST_CASE("check result: what is written is read back, and common/result reads its part") {
  const CheckResult check = example();
  CHECK(to_json(parse_check_result(to_json(check), "text")) == to_json(check));
  CHECK(to_json(parse_result(to_json(check), "text")) == to_json(check.result));
  // A result written by m1 has no cases and findings.
  CHECK(parse_check_result(to_json(check.result), "text").cases.empty());
}

TEST_CASE("check result: bytes that are not UTF-8 do not lose the result") {
  CheckResult check = example();
  check.findings[0].seen = "\xff\xfe";
  CHECK(parse_check_result(to_json(check), "text").findings.size() == 1);
}

TEST_CASE("check result: a change of two lines is told with both") {
  const Finding found{.mends = {{.lines = {4, 5}, .before = "h\nw", .after = "h + 1\nw + 1"}}};
  CHECK(mend_change_text(found) == "Every case is right if\n  h\n  w\nbecomes\n  h + 1\n  w + 1");
  const Finding added{.mends = {{.lines = {7}, .after = "__syncthreads();"}}};
  CHECK(mend_change_text(added) ==
        "Every case is right if this is added at line 7:\n  __syncthreads();");
}
