#include <filesystem>
#include <fstream>

#include "common/error/error.hpp"
#include "common/result/result.hpp"
#include "common/testing/catch.hpp"

using convlab::EnvironmentError;
using convlab::Result;

namespace {

Result example() {
  const convlab::ConvShape shape{
      .batch = 100, .out_channels = 4, .height = 86, .width = 86, .kernel = 7};
  Result result{.program = "grader check",
                .milestone = "m1",
                .solution = "student",
                .created = "2026-11-20T23:40:00Z",
                .machine = convlab::describe_machine(),
                .cases = {},
                .runs = {},
                .findings = {},
                .references = {},
                .verdict = convlab::Verdict::kFailed};
  result.cases.push_back({.stage = "baseline",
                          .name = "stride 4",
                          .shape = shape,
                          .seed = 0xFFFF'FFFF'FFFF'FFFFULL,
                          .exact = true,
                          .error = {.compared = 10, .wrong = 1, .worst_ratio = 0.1, .bound = 32},
                          .verdict = convlab::Verdict::kFailed});
  result.runs.push_back(
      {.network = "fa23",
       .batch = 100,
       .stage = {.id = "baseline", .title = "Seven loops", .baseline = ""},
       .device = convlab::Device::kCpu,
       .layers = {{.shape = shape,
                   .op_ms = {1.5, 0.1},
                   .layer_ms = {2.0, 0.25},
                   .error = convlab::ErrorMeasure{.compared = 5, .bound = 32},
                   .samples = {{.host_ms = 1.5, .event_ms = 1.25, .clock_mhz = 1980},
                               {.host_ms = 0.1, .slowed = true}},
                   .first_op_ms = 7.5},
                  {.shape = shape, .op_ms = {3}, .layer_ms = {3}, .error = {}}},
       .total = convlab::ProcessUsage{.user_s = 1.0, .peak_memory_mib = 12.5},
       .accuracy =
           convlab::AccuracyResult{.correct = 88, .total = 100, .expected = 88, .undecided = 1},
       .verdict = convlab::Verdict::kPassed});
  result.findings.push_back({.id = "E-nan",
                             .title = "Not a number",
                             .seen = "b=0 m=1 h=2 w=3",
                             .cause = "0/0",
                             .next = "look",
                             .stage = "s"});
  result.references.push_back(
      {.label = "oneDNN", .kind = "library", .network = "fa23", .batch = 100, .op_ms = {1, 2}});
  result.score =
      convlab::Score{{{.stage = "baseline",
                       .item = "cases",
                       .points = 40,
                       .earned = 10,
                       .credit = convlab::Credit::kPartial,
                       .yours = "7 of 28",
                       .reference = "28",
                       .why = "E-stride"},
                      {.stage = "baseline",
                       .item = "speed",
                       .batch = 100,
                       .points = 20,
                       .earned = 20,
                       .credit = convlab::Credit::kUndecided,
                       .speed = convlab::SpeedMeasure{.reference = "openmp",
                                                      .yours_ms = {{1.5}, {2.5}},
                                                      .reference_ms = {{1}, {2}},
                                                      .speed = 0.75,
                                                      .low = 0.5,
                                                      .high = 1,
                                                      .floor_ms = 0.1,
                                                      .rounds = 3}},
                      {.stage = "baseline", .item = "network", .batch = 1000, .points = 5}}};
  result.sources = {{.path = "milestones/m1_cpu_baseline/conv_forward.cpp", .sha256 = "ab12"}};
  return result;
}

std::string message_of(const std::string& text) {
  try {
    convlab::parse_result(text, "some.json");
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("result: what is written is read back, to the last bit") {
  const Result result = example();
  CHECK(convlab::parse_result(convlab::to_json(result), "text") == result);
}

TEST_CASE("result: a file that is no result is named, with the reason") {
  CHECK(message_of("{ \"schema\": ") ==
        "some.json is not JSON (it goes wrong at byte 13); run the command that wrote it again.");
  CHECK(message_of(R"({"schema": "convlab-result-9"})") ==
        "some.json is not a result of the form convlab-result-1: its schema is "
        "'convlab-result-9'.");
  CHECK(message_of(R"({"schema": "convlab-result-1"})") ==
        "some.json is not a result of the form convlab-result-1: key 'program' not found.");

  std::string wrong_verdict = convlab::to_json(example());
  const std::string word = "\"failed\"";
  wrong_verdict.replace(wrong_verdict.rfind(word), word.size(), "\"perfect\"");
  CHECK(message_of(wrong_verdict).find("'perfect' is not a known value") != std::string::npos);
}

TEST_CASE("result: every truncation of a file is refused") {
  const std::string text = convlab::to_json(example());
  for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
    CHECK_FALSE(message_of(text.substr(0, length)).empty());
  }
}

TEST_CASE("result: bytes that are not UTF-8 do not lose the result") {
  Result result = example();
  result.findings[0].seen = "\xff\xfe";
  CHECK(convlab::parse_result(convlab::to_json(result), "text").findings.size() == 1);
}

TEST_CASE("result: stages to choose from are read back") {
  Result result = example();
  result.score->choice = convlab::ScoreChoice{.most = 40, .stages = {"winograd", "fft"}};
  CHECK(convlab::parse_result(convlab::to_json(result), "text") == result);
}

TEST_CASE("score: items that were not measured count neither for nor against") {
  const convlab::Score score = *example().score;
  CHECK(score.earned() == 30);
  CHECK(score.counted() == 60);
  CHECK(score.total() == 65);
}
