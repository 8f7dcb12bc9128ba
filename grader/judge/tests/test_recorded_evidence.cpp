// What the grader says of every file of the corpora, without a run: grader/corpus/evidence holds
// what the runs have shown (`.ci/run corpora` records it again). A changed judge, a changed order
// of its rules and a changed text show here.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "common/base/json_text.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/result_json.hpp"
#include "grader/judge/judge.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace convlab::grader {
using convlab::from_json;  // where nlohmann-json looks for it
}

namespace {

struct Told {
  std::string finding{};
  std::string variant{};
  std::string text{};
  std::string warns{};
};

Told judged_again(const Json& evidence) {
  Told told;
  for (const Json& each : evidence) {
    const auto stage = each.get<Evidence>();
    CHECK_FALSE(plan(stage, stage.demands));
    const Judgement judgement = judge(stage, stage.demands);
    for (const Finding& warning : judgement.warnings) told.warns += warning.id;
    if (!judgement.finding || !told.finding.empty()) continue;
    const Finding& found = *judgement.finding;
    told.finding = found.id;
    told.variant = found.variant;
    told.text = found.title + "\n" + seen_text(found) + "\n" + found.cause + "\n" + found.next;
  }
  return told;
}

}  // namespace

TEST_CASE("recorded evidence: every file of the corpora gets its verdict, finding and words") {
  int cases = 0;
  for (const char* corpus : {"exploits", "course_files", "mistakes"}) {
    const std::filesystem::path file =
        std::string(CONVLAB_SOURCE_DIR "/grader/corpus/evidence/") + corpus + ".jsonl";
    std::istringstream lines(read_text(file));
    for (std::string line; std::getline(lines, line); ++cases) {
      const Json recorded = parse_json(line);
      CAPTURE(recorded.at("case"), recorded.at("place"));
      const Told told = judged_again(recorded.at("evidence"));
      CHECK(told.finding == recorded.at("finding").get<std::string>());
      CHECK(told.variant == recorded.at("variant").get<std::string>());
      CHECK(told.warns == recorded.at("warns").get<std::string>());
      for (const std::string words : recorded.at("says")) {
        CAPTURE(words, told.text);
        CHECK(told.text.find(words) != std::string::npos);
      }
    }
  }
  CHECK(cases > 0);
}
