// What becomes of evidence, without any run.
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/judge/grade.hpp"
#include "grader/judge/judge.hpp"
#include "grader/judge/tests/right_evidence.hpp"

using namespace convlab;
using namespace convlab::grader;
using convlab::testing::contains;

namespace {

std::optional<Finding> of(const std::string& id) {
  return id.empty() ? std::nullopt : std::optional(finding(id, "Seen there."));
}

Race race(bool is_between_warps) {
  return {.finding = finding("E-race", "Two threads."), .is_between_warps = is_between_warps};
}

/// A stage of which the usual experiments have found this, with a record for each further run.
class Checked {
 public:
  explicit Checked(Device device, const std::string& found) {
    evidence_.stage = "it";
    evidence_.device = device;
    evidence_.can_emulate = device != Device::kCpu;
    add(Experiment::kCases, Mode::kPlain, found);
    for (auto next = plan(evidence_, {}); found.empty() && next; next = plan(evidence_, {})) {
      if (next->mode != Mode::kPlain || next->experiment == Experiment::kSource) break;
      add(next->experiment, Mode::kPlain, "");
    }
  }

  Checked& add(Experiment experiment, Mode mode, const std::string& found,
               const std::optional<Race>& with = {}) {
    evidence_.records.push_back({.experiment = experiment,
                                 .mode = mode,
                                 .end = found.empty() ? RunEnd::kRight : RunEnd::kWrong,
                                 .finding = of(found),
                                 .race = with});
    return *this;
  }
  /// A run that shows nothing.
  Checked& silent(Experiment experiment, Mode mode) {
    evidence_.records.push_back({.experiment = experiment, .mode = mode, .end = RunEnd::kNotBuilt});
    return *this;
  }
  Checked& rehearsed(const std::string& found) {
    return add(Experiment::kRehearsal, Mode::kEmulated, found);
  }
  Checked& observed(const std::string& found, const std::optional<Race>& with = {}) {
    return add(Experiment::kRaces, Mode::kObserved, found, with);
  }
  Checked& again(Mode mode, const std::string& found) {
    return add(Experiment::kQuickCases, mode, found);
  }

  [[nodiscard]] std::optional<NextRun> next(const Demands& demands = {}) const {
    return plan(evidence_, demands);
  }
  [[nodiscard]] Judgement judged(const Demands& demands = {}) const {
    return judge(evidence_, demands);
  }
  /// The id of the finding; empty if it passes.
  [[nodiscard]] std::string told(const Demands& demands = {}) const {
    const auto finding = judged(demands).finding;
    return finding ? finding->id : "";
  }

 private:
  Evidence evidence_{};
};

const Demands kCourse{.any_shape = true, .forgives = true};

Checked on_gpu(const std::string& found) {
  return Checked(Device::kGpu, found);
}

Checked emulated(const std::string& found) {
  return Checked(Device::kEmulated, found);
}

}  // namespace

TEST_CASE("judge: evidence that is missing never passes") {
  Evidence nothing;
  nothing.stage = "it";
  CHECK(judge(nothing, {}).finding->id == "E-channel");
  CHECK(judge(nothing, {}).runs.takes_all);
  CHECK(emulated("").told() == "E-channel");
  Evidence silent = nothing;
  silent.records.emplace_back().experiment = Experiment::kCases;
  CHECK(judge(silent, {}).finding->id == "E-channel");
}

TEST_CASE("judge: a GPU's finding that is certain and complete is not asked about") {
  for (const char* id : {"E-exit", "E-not-implemented"}) {
    CHECK(on_gpu(id).next()->experiment == Experiment::kSource);
  }
  for (const char* id : {"", "E-wrong", "E-launch", "E-cuda-call", "E-outside", "E-timeout"}) {
    CHECK(on_gpu(id).next()->experiment == Experiment::kRehearsal);
  }
}

TEST_CASE("judge: what the emulation does not support is no finding") {
  CHECK(on_gpu("E-wrong").rehearsed("E-unsupported").observed("").told() == "E-wrong");
  CHECK(
      on_gpu("").rehearsed("E-unsupported").observed("").again(Mode::kGuarded, "").told().empty());
  for (const char* id : {"E-timeout", "E-slow", "E-memory"}) {
    CHECK(on_gpu("E-wrong").rehearsed(id).observed("").told() == "E-wrong");
  }
  // What only the emulated device reports must be able to hide on a GPU.
  CHECK(on_gpu("").rehearsed("E-launch").observed("").again(Mode::kGuarded, "").told().empty());
  CHECK(on_gpu("").rehearsed("E-barrier").observed("").told() == "E-barrier");
  // Only the emulated device knows the line of an endless loop, or that a barrier is never met.
  CHECK(on_gpu("E-timeout").rehearsed("E-timeout").told() == "E-timeout");
  CHECK(on_gpu("E-timeout").rehearsed("E-barrier").observed("").told() == "E-barrier");
}

TEST_CASE("judge: only a right output ends an emulated or an observed run well, on a GPU, too") {
  for (const char* id : {"E-exit", "E-timeout", "E-flood", "E-memory", "E-crash", "E-wrong"}) {
    CAPTURE(id);
    const Checked stage = on_gpu("").rehearsed(id).observed("");
    CHECK(stage.told() == id);
    CHECK(stage.told(kCourse).empty());
    CHECK(stage.judged(kCourse).warnings.front().id == id);
    CHECK(on_gpu("").rehearsed("").observed(id).told() == id);
    CHECK(emulated("").observed(id).told() == id);
    CHECK(emulated("").observed(id).judged().runs.takes_all);
  }
  CHECK(on_gpu("").silent(Experiment::kRehearsal, Mode::kEmulated).observed("").told() ==
        "E-channel");
  CHECK(on_gpu("").rehearsed("").silent(Experiment::kRaces, Mode::kObserved).told() == "E-channel");
  CHECK(emulated("").silent(Experiment::kRaces, Mode::kObserved).told() == "E-channel");
}

TEST_CASE("judge: what only the emulated compiler refuses explains a fault, nothing else") {
  const Finding told =
      *on_gpu("E-outside").rehearsed("E-build").observed("E-build").judged().finding;
  CHECK(told.title == "it should not compile");
  CHECK(contains(told.seen.text(), "on the GPU it ended with E-outside"));
  CHECK(on_gpu("E-wrong").rehearsed("E-build").observed("E-build").told() == "E-wrong");
  CHECK(
      on_gpu("").rehearsed("E-build").observed("E-build").again(Mode::kGuarded, "").told().empty());
}

TEST_CASE("judge: errors that no rounding explains may come from a race") {
  CHECK(emulated("E-precision").next()->experiment == Experiment::kRaces);
  CHECK(emulated("E-borders").next()->experiment == Experiment::kRaces);
  CHECK(emulated("E-stride").next()->experiment == Experiment::kSource);
}

TEST_CASE("judge: a race between warps is told as the cause of wrong numbers") {
  const auto told = emulated("E-wrong").observed("E-wrong", race(true)).judged().finding;
  CHECK(told->id == "E-race");
  CHECK(contains(told->seen.text(), "The check saw: Seen there."));
  // Within a warp, too, unless it is forgiven: what was measured holds for one order of its
  // threads.
  CHECK(emulated("E-wrong").observed("E-wrong", race(false)).told() == "E-race");
  const std::string forgiven = emulated("E-wrong")
                                   .observed("E-wrong", race(false))
                                   .again(Mode::kInStep, "E-wrong")
                                   .again(Mode::kInStepForgiven, "E-wrong")
                                   .told(kCourse);
  CHECK(forgiven == "E-wrong");
  CHECK(on_gpu("E-wrong").rehearsed("E-wrong").observed("", race(true)).told() == "E-race");
  CHECK(on_gpu("E-wrong").rehearsed("").observed("", race(false)).told() == "E-race");
}

TEST_CASE("judge: the emulated finding names the device if the two differ") {
  const auto text = [](const char* gpu, const char* emulated) {
    Checked stage = on_gpu(gpu).rehearsed(emulated).observed("");
    stage.again(Mode::kReadsForgiven, "E-wrong").again(Mode::kNumbersBeyond, "E-wrong");
    return stage.judged().finding->seen.text();
  };
  CHECK(text("E-wrong", "E-wrong") == "Seen there.");
  CHECK(contains(text("E-wrong", "E-outside"), "the GPU reported E-wrong."));
  // A wrong output has another cause than memory that stays allocated.
  CHECK(on_gpu("E-wrong").rehearsed("E-leak").observed("").told() == "E-wrong");
}

TEST_CASE("judge: what GPUs forgive is a warning under the course's rules") {
  const Checked outside = on_gpu("").rehearsed("E-outside").observed("");
  CHECK(outside.next()->mode == Mode::kReadsForgiven);
  Checked forgiven = outside;
  forgiven.again(Mode::kReadsForgiven, "");
  CHECK(forgiven.told() == "E-outside");
  CHECK(forgiven.told(kCourse).empty());
  CHECK(forgiven.judged(kCourse).warnings.front().id == "E-outside");
  const Demands refuses{.refused = {"E-outside"}, .forgives = true};
  CHECK(forgiven.told(refuses) == "E-outside");
  CHECK(forgiven.judged(refuses).runs.takes_network);
}

TEST_CASE("judge: an emulated file that GPUs forgive passes the course as GPUs run it") {
  Checked stage = emulated("E-outside").observed("").again(Mode::kReadsForgiven, "");
  CHECK(stage.told() == "E-outside");
  CHECK(stage.next(kCourse)->experiment == Experiment::kCases);
  CHECK(stage.next(kCourse)->mode == Mode::kReadsForgiven);
  for (auto next = stage.next(kCourse); next && next->mode != Mode::kPlain;
       next = stage.next(kCourse)) {
    stage.add(next->experiment, next->mode, "");
  }
  CHECK(stage.told(kCourse).empty());
  CHECK(stage.judged(kCourse).runs.counts == Mode::kReadsForgiven);
}

TEST_CASE("judge: a race takes the points of what it makes wrong") {
  const Judgement right = emulated("").observed("", race(true)).judged();
  CHECK(right.finding->id == "E-race");
  CHECK_FALSE(right.runs.takes_network);
  Checked stage = emulated("");
  CHECK(stage.observed("E-wrong", race(true)).told() == "E-race");
  CHECK(stage.told(kCourse) == "E-race");
  CHECK(stage.judged(kCourse).runs.takes_all);
}

TEST_CASE("judge: kept evidence gets its verdict and other points without a run") {
  CheckResult kept;
  kept.cases = {{.stage = "it", .name = "a"}, {.stage = "it", .name = "b"}};
  kept.evidence = {grader::testing::right_evidence("it")};
  kept.basis = ScoreBasis{.cases_in_all = 2, .counted = {{"it", {}}}};
  const ScoreRules rules{.items = {{.stage = "it", .what = ScoreRule::What::kCases, .points = 7}}};
  const auto right = grade_again(kept, rules);
  REQUIRE(right);
  CHECK(right->result.verdict == Verdict::kPassed);
  CHECK(right->score->earned() == 7);
  // An old finding counts only as far as today's judge finds it, too.
  kept.findings = {{.id = "E-wrong", .stage = "it"}};
  CHECK(grade_again(kept, rules)->findings.empty());
  CheckResult wrong = kept;
  wrong.evidence.front().records.front().end = RunEnd::kWrong;
  wrong.evidence.front().records.front().finding = of("E-wrong");
  wrong.findings.front().mends = {{.kind = "a kind"}};
  wrong.cases.back().verdict = Verdict::kFailed;
  wrong.evidence.front().records.push_back({.experiment = Experiment::kSource});
  const auto still_wrong = grade_again(wrong, rules);
  REQUIRE(still_wrong);
  CHECK(still_wrong->result.verdict == Verdict::kFailed);
  CHECK(still_wrong->findings.front().mends.front().kind == "a kind");
  CHECK(still_wrong->score->earned() == 3);
  // Something must run: an experiment, other cases, a count.
  CheckResult short_of = kept;
  short_of.evidence.front().records.pop_back();
  CHECK_FALSE(grade_again(short_of, rules));
  CheckResult others = kept;
  others.basis->counted["it"].counts = Mode::kInStep;
  CHECK_FALSE(grade_again(others, rules));
  const ScoreRules counts{.items = {{.stage = "it",
                                     .what = ScoreRule::What::kCounters,
                                     .points = 7,
                                     .limits = {{.counter = "launches", .at_most = 1}}}}};
  CHECK_FALSE(grade_again(kept, counts));
}
