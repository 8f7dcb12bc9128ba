// Which rules each term has, and what becomes of a file that breaks one: without a run, from facts
// and from evidence of the corpus.
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/base/json_text.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/whole_file.hpp"
#include "common/result/result_json.hpp"
#include "grader/judge/course_rules.hpp"
#include "grader/judge/judge.hpp"

using namespace convlab;
using namespace convlab::grader;

namespace convlab::grader {
using convlab::from_json;  // where nlohmann-json looks for it
}

namespace {

std::string kept(const std::string& task, bool competition) {
  GradeRequest request;
  request.rules = parse_rules(task);
  request.competition = competition;
  std::string names;
  for (const std::string& rule : rules_to_keep(request)) names += " " + rule;
  return names;
}

Evidence recorded(const std::string& name) {
  std::istringstream lines(
      read_text(CONVLAB_SOURCE_DIR "/grader/corpus/evidence/course_files.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const Json recorded = parse_json(line);
    if (recorded.at("case") == name) return recorded.at("evidence").at(0).get<Evidence>();
  }
  FAIL("The corpus has no case " << name << ".");
  return {};
}

struct File {
  Evidence evidence{};
  RuleFacts facts{};
};

// What the judge says of the file as this task: the finding, empty if it passes.
std::string judged(const File& file, const std::string& task, bool competition) {
  GradeRequest request;
  request.rules = parse_rules(task);
  request.competition = competition;
  const std::vector<std::string> rules = rules_to_keep(request);
  Evidence evidence = file.evidence;
  std::erase_if(evidence.records,
                [](const Record& record) { return record.experiment == Experiment::kTaskRules; });
  evidence.demands.prolog_may_compute = request.rules.prolog_may_compute();
  evidence.demands.has_task_rules = !rules.empty();
  if (!rules.empty()) {
    const auto broken = broken_by(file.facts, rules);
    evidence.records.push_back({.experiment = Experiment::kTaskRules,
                                .end = broken ? RunEnd::kWrong : RunEnd::kRight,
                                .finding = broken});
    evidence.records.push_back({.experiment = Experiment::kSource});
  }
  const auto finding = judge(evidence, evidence.demands).finding;
  return finding ? finding->id : "";
}

// The tasks of a term that refuse the file, "final competition"; "all" or "all but req-0" of those
// on the GPU.
std::string refused_by(const Edition& edition, const File& file, const std::string& id,
                       bool competition) {
  std::string refused;
  std::string passed;
  for (const EditionTask& task : edition.tasks) {
    if (task.is_cpu()) continue;
    const std::string found = judged(file, edition.id_of(task), competition);
    CHECK((found.empty() || found == id));
    std::string& names = found.empty() ? passed : refused;
    names += (names.empty() ? "" : " ") + task.name;
  }
  if (refused.empty() || std::ranges::count(passed, ' ') > 0) return refused;
  return passed.empty() ? "all" : "all but " + passed;
}

RuleFacts facts_of(const Unrolling& unrolling, bool has_tiles) {
  const ConvShape layer{
      .batch = 1, .out_channels = 16, .in_channels = 4, .height = 40, .width = 40};
  return {.layers = {{.shape = layer, .has_tiles = has_tiles, .unrolling = unrolling}}};
}

std::string said(const RuleFacts& facts, const char* rule) {
  const auto broken = broken_by(facts, {rule});
  return broken ? seen_text(*broken) : "";
}

}  // namespace

TEST_CASE("course rules: which tasks of which term refuse a file") {
  const File right{.evidence = recorded("unrolls_and_multiplies")};
  const auto with = [&](const RuleFacts& facts) { return File{right.evidence, facts}; };
  const std::vector<File> files = {
      right,
      {.evidence = recorded("streams_task_in_prolog")},
      with({.phases = {.prolog = 1, .epilog = 0}}),
      with({.streams = 2}),
      with({.precision = Precision::kFp16}),
      with(facts_of({.part = 1.0, .loads_per_product = 1.0}, true)),
      with(facts_of({.part = 0.1, .loads_per_product = 0.04}, true)),
      with({.calls_matmul = false}),
  };
  struct Row {
    const char* edition;
    std::vector<std::string> refused;  // of each file
  };
  const std::string final_one = "final";
  const std::string both = "final competition";
  const std::string no_prolog = "all but req-0";
  const std::vector<Row> alone = {
      {"fa20", {"", "all", "", "", "", "", "", ""}},
      {"sp21", {"", "all", "", "", "", "", "", ""}},
      {"fa21", {"", "all", "", "", "", "", "", ""}},
      {"sp22", {"", "all", "", "", "", "", "", ""}},
      {"fa22", {"", "all", "", "", "", "", "", ""}},
      {"sp23", {"", "all", "", "", "", "", "", ""}},
      {"fa23", {"", "all", "", "", "", "", "", ""}},
      {"sp24", {"", "all", "", "", "", "", "", ""}},
      {"cse160", {"", "all", "", "", "", "", "", ""}},
      {"csc14120", {"", "", "", "", "", "", "", ""}},  // a form, without tasks
      {"fa24", {"", no_prolog, both, final_one, both, "", "competition", ""}},
      {"sp25", {"", no_prolog, both, both, both, "", "", "m2-unroll"}},
      {"fa25", {"", no_prolog, final_one, final_one, final_one, "", "", "m2-unroll"}},
      {"sp26", {"", no_prolog, final_one, final_one, final_one, "", "", "m2-unroll"}}};
  CHECK(alone.size() == edition_names().size());
  // In the ranked run each file is judged alike.
  const std::vector<Row> ranked = {
      {"sp25", {"", no_prolog, both, both, both, "", "", "m2-unroll"}},
      {"fa25", {"", no_prolog, "all", "all", "all", "all", "all", "m2-unroll"}},
      {"sp26", {"", no_prolog, "all", "all", "all", "all", "all", "m2-unroll"}}};
  for (const auto* rows : {&alone, &ranked}) {
    for (const auto& [name, refused] : *rows) {
      const Edition edition = load_edition(name);
      REQUIRE(refused.size() == files.size());
      for (std::size_t i = 0; i < files.size(); ++i) {
        CAPTURE(name, i, rows == &ranked);
        const std::string id = i == 1 ? "E-timed-phase-empty" : "E-course-rule";
        CHECK(refused_by(edition, files[i], id, rows == &ranked) == refused[i]);
      }
    }
  }
}

TEST_CASE("course rules: a product of an unrolled input is told from kernels that are none") {
  struct Row {
    const char* what;
    bool has_tiles;
    Unrolling seen;
    bool is_tiled, is_unrolled;
  };
  for (const Row& row : std::vector<Row>{
           {"the plain kernel", false, {.part = 0.0, .loads_per_product = 1.0}, false, false},
           {"with weights in tiles", true, {.part = 0.0, .loads_per_product = 1.0}, false, false},
           {"tiles of the image", true, {.part = 0.04, .loads_per_product = 0.04}, true, false},
           {"fused", true, {.part = 1.0, .loads_per_product = 0.06}, true, true},
           {"unrolled, product in tiles",
            true,
            {.part = 2.0, .loads_per_product = 0.5},
            true,
            true},
           {"unrolled, plain product",
            false,
            {.part = 1.0, .loads_per_product = 1.2},
            false,
            true}}) {
    CAPTURE(row.what);
    const RuleFacts facts = facts_of(row.seen, row.has_tiles);
    CHECK(said(facts, "tiled-product").empty() == row.is_tiled);
    CHECK(said(facts, "unrolling").empty() == row.is_unrolled);
  }
  CHECK(said({}, "unrolling").empty());  // nobody could look
}

TEST_CASE("course rules: only a right file of the basic kernel's accuracy is ranked, on a GPU") {
  Result result{.runs = {RunResult{}, RunResult{}}, .verdict = Verdict::kPassed};
  result.runs.front().accuracy = AccuracyResult{.correct = 87, .total = 100, .expected = 87};
  auto& last = result.runs.back().accuracy.emplace();
  last = {.correct = 871, .total = 1000, .expected = 872};
  CHECK_THAT(why_not_ranked(result, Device::kGpu),
             Catch::Matchers::ContainsSubstring("exactly the basic kernel's accuracy"));
  last.undecided = 1;  // too close to call
  CHECK(why_not_ranked(result, Device::kGpu).empty());
  last = {.correct = 872, .total = 1000, .expected = 872};
  CHECK(why_not_ranked(result, Device::kGpu).empty());
  CHECK_THAT(why_not_ranked(result, Device::kEmulated),
             Catch::Matchers::ContainsSubstring("only times of a GPU"));
  result.verdict = Verdict::kFailed;
  CHECK_THAT(why_not_ranked(result, Device::kGpu),
             Catch::Matchers::ContainsSubstring("only right results"));
}

TEST_CASE(
    "course rules: what each term asks of a task beside a right output, and if it is ranked") {
  const std::string in_time = " kernels-in-convolve one-stream no-half";
  const std::string ranked = in_time + " tiled-product unrolling";
  struct Row {
    const char* task;
    std::string alone, in_competition;
  };
  const std::vector<Row> rows = {{"fa20", "", ""},
                                 {"sp24-gpu", "", ""},
                                 {"fa24-m2-unroll", "", ""},
                                 {"fa24-req-0", "", ""},
                                 {"fa24-final", in_time, in_time},
                                 {"fa24-competition", " kernels-in-convolve no-half unrolling",
                                  " kernels-in-convolve no-half unrolling"},
                                 {"sp25-final", in_time, in_time},
                                 {"sp25-competition", in_time, in_time},
                                 {"fa25-m2-unroll", " matmul", " matmul" + ranked},
                                 {"fa25-final", in_time, ranked},
                                 {"sp26-m2-fused", "", ranked},
                                 {"sp26-req-0", "", ranked},
                                 {"sp26-final", in_time, ranked}};
  for (const Row& row : rows) {
    CAPTURE(row.task);
    CHECK(kept(row.task, false) == row.alone);
    CHECK(kept(row.task, true) == row.in_competition);
  }
}
