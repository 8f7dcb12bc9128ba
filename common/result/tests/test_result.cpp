#include <functional>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/result/result.hpp"

using Catch::Matchers::ContainsSubstring;
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
                .runs = {},
                .references = {},
                .verdict = convlab::Verdict::kFailed};
  convlab::RunResult& run = result.runs.emplace_back();
  run.network = "fa23";
  run.batch = 100;
  run.stage = {.id = "baseline", .title = "Seven loops"};
  run.layers = {{.shape = shape,
                 .op_ms = {1.5, 0.1},
                 .layer_ms = {2.0, 0.25},
                 .error = convlab::ErrorMeasure{.compared = 5, .bound = 32},
                 .samples = {{.host_ms = 1.5, .event_ms = 1.25}, {.host_ms = 0.1}}},
                {.shape = shape, .op_ms = {3}, .layer_ms = {3}, .error = {}}};
  run.total = convlab::ProcessUsage{.user_s = 1.0, .peak_memory_mib = 12.5};
  run.accuracy =
      convlab::AccuracyResult{.correct = 88, .total = 100, .expected = 88, .undecided = 1};
  run.verdict = convlab::Verdict::kPassed;
  result.references.push_back(
      {.label = "oneDNN", .kind = "library", .network = "fa23", .batch = 100, .op_ms = {1, 2}});
  return result;
}

std::string complaint_about(const std::string& text) {
  return convlab::testing::message_of([&] { convlab::parse_result(text, "some.json"); });
}

}  // namespace

TEST_CASE("result: what is written is read back, to the last bit") {
  const std::string text = convlab::to_json(example());
  CHECK(convlab::to_json(convlab::parse_result(text, "text")) == text);
}

TEST_CASE("result: a file that is no result is named, with the reason") {
  CHECK(complaint_about("{ \"schema\": ") ==
        "some.json is not JSON (it goes wrong at byte 13); run the command that wrote it again.");
  CHECK(complaint_about(R"({"schema": "convlab-result-9"})") ==
        "some.json is not a result of the form convlab-result-1: its schema is "
        "'convlab-result-9'.");
  CHECK(complaint_about(std::string(1'000'000, '[') + std::string(1'000'000, ']')) ==
        "some.json is not a result of the form convlab-result-1: it is nested too deeply.");
  CHECK(complaint_about(R"({"schema": "convlab-result-1"})") ==
        "some.json is not a result of the form convlab-result-1: key 'program' not found.");
  std::string wrong_verdict = convlab::to_json(example());
  const std::string word = "\"failed\"";
  wrong_verdict.replace(wrong_verdict.rfind(word), word.size(), "\"perfect\"");
  CHECK(complaint_about(wrong_verdict).find("'perfect' is not a known value") != std::string::npos);
}

TEST_CASE("result: a name that is no id, and a list that only takes time, are refused") {
  const auto complaint = [](const std::function<void(Result&)>& change) {
    Result result = example();
    change(result);
    return complaint_about(convlab::to_json(result));
  };
  CHECK(complaint([](Result& result) {
          result.machine.promised.bytes_per_second = 1e308;
        }).find("which nothing measures") != std::string::npos);
  for (const char* name : {"end_of_data", "Baseline", "a b", "../x", ""}) {
    CHECK_THAT(complaint([&](Result& result) { result.runs.front().stage.id = name; }),
               ContainsSubstring("1 to 40 of a-z"));
  }
  CHECK_THAT(complaint([](Result& result) { result.runs.front().network = "fa23 $(x)"; }),
             ContainsSubstring("names the network"));
  CHECK_THAT(complaint([](Result& result) { result.runs.resize(3001, result.runs.front()); }),
             ContainsSubstring("a list of 3001 entries"));
  CHECK_THAT(complaint([](Result& result) {
               std::vector<convlab::LayerResult>& layers = result.runs.front().layers;
               layers.resize(101, layers.front());
             }),
             ContainsSubstring("too many layers"));
  for (const double ms : {1e308, 1e-309}) {
    CHECK_THAT(complaint([&](Result& result) {
                 result.runs.front().layers.front().op_ms = {ms, ms};
               }),
               ContainsSubstring("a time of 1e" + std::string(ms > 1.0 ? "+308" : "-309") + " ms"));
  }
  Result result = example();
  result.machine.cpu = "some CPU\nPASSED";
  CHECK(convlab::parse_result(convlab::to_json(result), "some.json").machine.cpu ==
        "some CPU PASSED");
  // Every truncation is refused.
  const std::string text = convlab::to_json(example());
  for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
    CHECK_FALSE(complaint_about(text.substr(0, length)).empty());
  }
}
