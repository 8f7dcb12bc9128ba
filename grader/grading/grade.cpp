#include "grader/grading/grade.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "common/error/error.hpp"
#include "common/result/add_device.hpp"
#include "grader/checks/behaviour_check.hpp"
#include "grader/checks/device_analysis.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/find_precision.hpp"
#include "grader/checks/graded_network.hpp"
#include "grader/checks/network_check.hpp"
#include "grader/checks/source_clues.hpp"
#include "grader/findings/catalogue.hpp"
#include "grader/scores/make_score.hpp"
#include "grader/scores/speed_points.hpp"
#include "grader/submission/submission.hpp"
#include "grader/timing/measure_speed.hpp"
#include "grader/timing/time_layer.hpp"

namespace convlab::grader {

namespace {

std::vector<StageInfo> chosen(const std::vector<StageInfo>& stages, const GradeRequest& request) {
  if (!request.stage) return stages;
  std::string known;
  for (const StageInfo& stage : stages) {
    if (stage.id == *request.stage) return {stage};
    known += (known.empty() ? "" : ", ") + stage.id;
  }
  throw UsageError("There is no stage '" + *request.stage + "' in " + request.milestone +
                   "; the stages are: " + known + ".");
}

constexpr std::size_t kMostStages = 64;
// Far longer than honest work takes: emulated, all stages of m4 take minutes.
constexpr std::chrono::hours kMostTime{3};

std::string listed_twice(const std::vector<StageInfo>& stages) {
  std::set<std::string> seen;
  for (const StageInfo& stage : stages) {
    if (!seen.insert(stage.id).second) return stage.id;
  }
  return {};
}

class Grading {
 public:
  Grading(const GradeRequest& request, const GradeObserver& observer)
      : request_(request), observer_(observer), submission_(request.program, request.time_limit) {
    check_.result = {.program = "grader check",
                     .milestone = request.milestone,
                     .solution = request.solution,
                     .created = utc_now(),
                     .machine = describe_machine(),
                     .verdict = Verdict::kFailed};
    submission_.set_sources(SourceText(request.sources));
  }

  CheckResult run() {
    const std::vector<StageInfo> stages = list_stages();
    // Emulating 10 000 images takes a quarter of an hour; to get it, name the batch.
    std::vector<int> batches = request_.batches;
    if (batches.empty()) batches = {100, 1000};
    if (request_.batches.empty() && !is_emulated()) batches.push_back(10'000);
    const int largest = *std::max_element(batches.begin(), batches.end());
    GradedNetwork network(request_.network, largest);
    if (!stages.empty()) {
      const std::uint64_t seed = request_.seed.value_or(std::random_device{}());
      if (rules() == Rules::kCourse) check_.rules = to_string(rules());
      bool good = true;
      if (request_.checked) {
        good = take_over(*request_.checked, stages);
        for (const StageInfo& stage : stages) {
          cases_of_[stage.id] = plan_for(stage, batches).cases.size();
        }
        network.load(observer_.announce);
      } else {
        for (const StageInfo& stage : stages) good &= check_as_asked(stage, batches, seed, network);
      }
      add_device(check_.result, submission_.device().measured);
      if (good) check_.result.verdict = Verdict::kPassed;
    }
    if (request_.score && keeps_promises()) score(*request_.score, stages, batches, network);
    return std::move(check_);
  }

 private:
  [[nodiscard]] bool is_emulated() const {
    return submission_.device().device == Device::kEmulated;
  }

  // Points need the box's promises; an instructor with another protection disables the mechanism by
  // name.
  bool keeps_promises() {
    const std::vector<std::string> broken = broken_promises(submission_.isolation());
    if (broken.empty()) return true;
    check_.isolation +=
        ". So there are no points: " + broken.front() + " docs/grading.md#threat-model tells more.";
    return false;
  }

  [[nodiscard]] std::string warnings() const {
    if (!request_.warnings.empty() || !request_.build_emulated) return request_.warnings;
    return request_.build_emulated(false).warnings;
  }

  // Stores and reports a finding; false if there is one.
  bool passes(const StageInfo& stage, const std::optional<Finding>& finding) {
    if (!finding) return true;
    // A file that does not compile has shown its errors already.
    check_.findings.push_back(request_.unbuilt ? *finding : with_warnings(*finding, warnings()));
    quote_exercise(submission_.sources(), check_.findings.back());
    check_.findings.back().stage = stage.id;
    check_.result.verdict = Verdict::kFailed;
    observer_.found(stage, check_.findings.back());
    return false;
  }

  // Starts the program and reads its stages and its device; none if there is nothing to check.
  std::vector<StageInfo> list_stages() {
    std::vector<StageInfo> stages;
    if (!passes({}, request_.unbuilt)) {
      if (request_.score)
        submission_.list_stages(stages);  // the last built program knows the device
      return {};
    }
    const std::optional<Failure> failure = submission_.list_stages(stages);
    check_.isolation = describe(submission_.isolation());
    if (failure) {
      passes({}, explain(*failure, "the list of stages"));
      return {};
    }
    refuse_silent_emulation(submission_.device());
    if (stages.empty()) {
      passes({}, finding("E-no-stage", "The program lists no stage."));
      return {};
    }
    if (const std::string twice = listed_twice(stages); !twice.empty()) {
      passes({}, finding("E-same-stage", "Two stages are called '" + twice + "'."));
      return {};
    }
    if (stages.size() > kMostStages) {
      passes({}, finding("E-same-stage", "The program lists " + std::to_string(stages.size()) +
                                             " stages; at most " + std::to_string(kMostStages) +
                                             " are checked."));
      return {};
    }
    return chosen(stages, request_);
  }

  std::optional<Finding> time_is_up() const {
    if (std::chrono::steady_clock::now() - start_ < kMostTime) return std::nullopt;
    return finding("E-timeout", "The whole check took more than " +
                                    std::to_string(kMostTime.count()) + " hours.");
  }

  // Takes an earlier check's results for these stages; false if one of them failed.
  bool take_over(const CheckResult& earlier, const std::vector<StageInfo>& stages) {
    const auto is_here = [&](const std::string& id) {
      return std::any_of(stages.begin(), stages.end(),
                         [&](const StageInfo& stage) { return stage.id == id; });
    };
    check_.cases = earlier.cases;
    check_.findings = earlier.findings;
    check_.warnings = earlier.warnings;
    check_.generality = earlier.generality;
    check_.result.runs = earlier.result.runs;
    std::erase_if(check_.cases, [&](const CaseResult& test) { return !is_here(test.stage); });
    std::erase_if(check_.findings, [&](const Finding& found) { return !is_here(found.stage); });
    std::erase_if(check_.result.runs, [&](const RunResult& run) { return !is_here(run.stage.id); });
    return check_.findings.empty();
  }

  [[nodiscard]] Rules rules() const {
    const bool course = request_.form != FileInterface::kStages;
    return request_.rules.rules.value_or(course ? Rules::kCourse : Rules::kWorkbook);
  }

  // The exercises of the first milestones must handle every shape; a stage's declaration does not
  // matter.
  [[nodiscard]] bool supports_one_network(const StageInfo& stage) const {
    return !stage.only_for.empty() && request_.milestone == "m4";
  }

  [[nodiscard]] CasePlan plan_for(const StageInfo& stage, const std::vector<int>& batches) const {
    // The course used only batches of hundreds, so the check does, too.
    constexpr int kQuick = 100;
    const int batch = std::min(kQuick, *std::min_element(batches.begin(), batches.end()));
    if (supports_one_network(stage)) {
      return course_plan(load_preset(stage.only_for), batch, false);
    }
    if (rules() == Rules::kWorkbook) return workbook_plan();
    const bool has_stride = request_.form == FileInterface::kCourseWithStride;
    return course_plan(load_preset(request_.network), batch,
                       request_.rules.published_cases.value_or(has_stride));
  }

  // Checks with the requested rules and precision class.
  bool check_as_asked(const StageInfo& declared, const std::vector<int>& batches,
                      std::uint64_t seed, GradedNetwork& network) {
    StageInfo stage = declared;
    if (supports_one_network(stage) && stage.only_for != request_.network) {
      // Not an error in the command: the file declares it, and other stages can still be checked.
      return passes(
          stage, finding("E-shapes", "It supports the layers of network " + stage.only_for +
                                         " only; check it with --network " + stage.only_for + "."));
    }
    const CasePlan plan = plan_for(stage, batches);
    cases_of_[stage.id] = plan.cases.size();
    const bool finds = request_.precision && !request_.precision->declared;
    if (request_.precision && request_.precision->declared) {
      stage.precision = *request_.precision->declared;
    } else if (finds) {
      observer_.announce(stage.id + ": how exactly it computes");
      stage.precision = precision_of_inputs(submission_, stage, plan.phases, seed);
    }
    std::optional<Finding> found = check_in_class(stage, plan, batches, seed, network);
    if (request_.build_emulated) {
      found = is_emulated() ? without_luck(stage, plan, batches, seed, network, found)
                            : rehearsed(stage, plan, seed, found);
    }
    if (finds && (!found || stage.precision != Precision::kFp32)) {
      observer_.noted(stage, std::string("It computes like ") + describe(stage.precision) + ".");
    }
    if (!passes(stage, found)) return false;
    if (!plan.measured.empty()) measure_generality(stage, plan, seed);
    return true;
  }

  // Checks in the stage's class; if the class must be found, in the tightest that the stage keeps.
  std::optional<Finding> check_in_class(StageInfo& stage, const CasePlan& plan,
                                        const std::vector<int>& batches, std::uint64_t seed,
                                        GradedNetwork& network) {
    const bool finds = request_.precision && !request_.precision->declared;
    const std::size_t cases = check_.cases.size();
    const std::size_t runs = check_.result.runs.size();
    std::optional<Finding> found = check(stage, plan, batches, seed, network);
    while (finds && found && found->id == "E-precision") {
      const std::optional<Precision> looser = next_looser(stage.precision);
      if (!looser) break;
      stage.precision = *looser;
      check_.cases.resize(cases);
      check_.result.runs.resize(runs);
      found = check(stage, plan, batches, seed, network);
    }
    return found;
  }

  // An emulated device sees faults that do not show on a GPU. Under the rules of the workbook they
  // count, under their own name; under those of the course they are only warnings.
  std::optional<Finding> without_luck(StageInfo& stage, const CasePlan& plan,
                                      const std::vector<int>& batches, std::uint64_t seed,
                                      GradedNetwork& network, const std::optional<Finding>& found) {
    if (!found || !may_be_luck(*found)) return found;
    observer_.announce(stage.id + ": whether a GPU would show this");
    const auto luck =
        find_luck(request_.build_emulated, stage, with_few_images(plan.repeated), seed, *found);
    if (!luck) return found;
    if (rules() == Rules::kWorkbook) return luck->finding;
    const CheckResult before = check_;
    std::erase_if(check_.cases, [&](const CaseResult& test) { return test.stage == stage.id; });
    std::erase_if(check_.result.runs,
                  [&](const RunResult& run) { return run.stage.id == stage.id; });
    const std::filesystem::path usual = submission_.program();
    submission_.replace_program(luck->program, luck->environment);
    const std::optional<Finding> still = check_in_class(stage, plan, batches, seed, network);
    if (still) {
      check_ = before;
      submission_.replace_program(usual, {});
      return found;
    }
    warn(stage, luck->finding);
    return std::nullopt;
  }

  // On a GPU: an emulated device may know why the output is wrong, or see a fault that the GPU does
  // not show.
  std::optional<Finding> rehearsed(const StageInfo& stage, const CasePlan& plan, std::uint64_t seed,
                                   const std::optional<Finding>& found) {
    if (found && !may_be_luck(*found)) return found;
    observer_.announce(stage.id + ": the same on an emulated device");
    auto emulated =
        rehearse(request_.build_emulated, SourceText(request_.sources), stage, plan, seed);
    if (emulated && !may_be_luck(*emulated)) emulated.reset();
    if (!emulated && !found) emulated = guarded(stage, plan, seed);
    if (!emulated) return found;
    const auto luck =
        find_luck(request_.build_emulated, stage, with_few_images(plan.repeated), seed, *emulated);
    if (found) {
      if (luck) return luck->finding;
      // A GPU's error code says less than these.
      return !looked_closer_ && holds_everywhere(*emulated) ? emulated : found;
    }
    if (!luck && !holds_everywhere(*emulated)) return std::nullopt;  // a limit of the emulation
    const Finding& told = luck ? luck->finding : *emulated;
    if (rules() == Rules::kWorkbook) return told;
    warn(stage, told);
    return std::nullopt;
  }

  // On a GPU: accesses beyond an allocation, which usually hit another allocation unnoticed.
  std::optional<Finding> guarded(const StageInfo& stage, const CasePlan& plan, std::uint64_t seed) {
    observer_.announce(stage.id + ": with nothing behind its arrays");
    submission_.set_gpu_memory("guarded");
    std::optional<Finding> found;
    for (const ElementCase& test : plan.repeated) {
      const CaseOutcome outcome = run_case(submission_, stage, test, ++seed);
      if (!outcome.finding) continue;
      if (outcome.finding->id == "E-outside") {
        found = closer(stage, test, seed, *outcome.finding);
      }
      break;
    }
    submission_.set_gpu_memory("usual");
    submission_.restart();
    return found;
  }

  void warn(const StageInfo& stage, const Finding& finding) {
    check_.warnings.push_back(finding);
    check_.warnings.back().stage = stage.id;
    observer_.warned(stage, finding);
  }

  // Shapes that do not change the verdict.
  void measure_generality(const StageInfo& stage, const CasePlan& plan, std::uint64_t seed) {
    Generality generality{.stage = stage.id};
    constexpr int kMostTimeouts = 2;  // a program that hangs at each shape would take hours
    int timeouts = 0;
    for (const ElementCase& test : plan.measured) {
      if (timeouts == kMostTimeouts) break;
      observer_.announce(stage.id + ": general case " + std::to_string(++generality.cases) +
                         " of " + std::to_string(plan.measured.size()));
      const CaseOutcome outcome = run_case(submission_, stage, test, ++seed);
      if (!outcome.finding) ++generality.right;
      if (outcome.finding && outcome.finding->id == "E-timeout") ++timeouts;
      if (outcome.finding && generality.first_miss.empty()) generality.first_miss = test.name;
    }
    std::string text = "also right on " + std::to_string(generality.right) + " of " +
                       std::to_string(generality.cases) + " general shapes";
    if (!generality.first_miss.empty()) text += "; first miss: " + generality.first_miss;
    observer_.noted(stage, text + " (costs nothing).");
    check_.generality.push_back(std::move(generality));
  }

  // The GPU's finding, or the emulated device's if that knows more.
  Finding closer(const StageInfo& stage, const ElementCase& test, std::uint64_t seed,
                 const Finding& found) {
    if (submission_.device().device != Device::kGpu || !request_.build_emulated) return found;
    auto told = look_closer(request_.build_emulated, SourceText(request_.sources), stage, test,
                            seed, found);
    looked_closer_ = told.has_value();
    return told.value_or(found);
  }

  std::optional<Finding> check_cases(const StageInfo& stage, const CasePlan& plan,
                                     std::uint64_t seed, const Announce& announce) {
    std::size_t done = 0;
    for (const ElementCase& test : plan.cases) {
      if (auto late = time_is_up()) return late;
      announce("case " + std::to_string(++done) + " of " + std::to_string(plan.cases.size()) +
               ", " + test.name);
      const CaseOutcome outcome = run_case(submission_, stage, test, seed + done);
      check_.cases.push_back(outcome.result);
      if (outcome.finding) return closer(stage, test, seed + done, *outcome.finding);
    }
    observer_.cases_passed(stage, done);
    return std::nullopt;
  }

  // Runs from the first case to the last batch. @return the finding that ends it
  std::optional<Finding> check(const StageInfo& stage, const CasePlan& plan,
                               const std::vector<int>& batches, std::uint64_t seed,
                               GradedNetwork& network) {
    const Announce announce = [&](const std::string& what) {
      observer_.announce(stage.id + ": " + what);
    };
    looked_closer_ = false;
    // Nothing is timed here, so the GPU's memory may hold what shows in the output.
    submission_.set_gpu_memory("poisoned");
    std::optional<Finding> wrong = check_cases(stage, plan, seed, announce);
    submission_.set_gpu_memory("usual");
    if (wrong) return wrong;
    if (auto found = check_behaviour(submission_, stage, plan, seed, announce)) return found;
    if (auto shared =
            find_shared_variable(request_.build_plain, submission_.sources(), stage, seed)) {
      return shared;
    }
    if (auto leak = check_leaks(submission_, stage, plan.repeated.front().shape, seed)) {
      // The course never checked this.
      if (plan.rules == Rules::kWorkbook) return leak;
      warn(stage, *leak);
    }
    network.load(announce);
    const LayerTimer time = [&](const CheckedLayer& layer, LayerResult& result) {
      return time_layer(submission_, stage, layer, result);
    };
    for (const int batch : batches) {
      if (auto late = time_is_up()) return late;
      const NetworkOutcome outcome =
          check_network(submission_, stage, task_of(network, batch), announce, time);
      check_.result.runs.push_back(outcome.result);
      observer_.run_ended(outcome.result);
      if (outcome.finding) return outcome.finding;
    }
    const auto [smallest, largest] = std::minmax_element(batches.begin(), batches.end());
    std::optional<int> hidden_batch;  // of any size where every shape must be right
    if (plan.rules == Rules::kCourse) hidden_batch = *smallest;
    return check_hidden_batches(submission_, stage, network, hidden_batch, *largest, seed,
                                announce);
  }

  void score(const ScoreRequest& wanted, const std::vector<StageInfo>& stages,
             const std::vector<int>& batches, const GradedNetwork& network) {
    const CheckedWork work{.check = check_,
                           .only_stage = request_.stage,
                           .batches = batches,
                           .network = request_.network,
                           .emulated = is_emulated(),
                           .cases_in_all = element_cases().size(),
                           .cases_of = cases_of_,
                           .puzzles = wanted.puzzles};
    std::vector<SpeedOutcome> speeds;
    for (const ScoreRule& rule : wanted.rules.items) {
      std::string why;
      if (rule.what != ScoreRule::What::kSpeed || !can_measure(rule, wanted.rules, work, why)) {
        continue;
      }
      const auto stage = std::find_if(stages.begin(), stages.end(),
                                      [&](const StageInfo& each) { return each.id == rule.stage; });
      speeds.push_back(measure(wanted, rule, as_judged(*stage), network));
      passes(*stage, speeds.back().finding);
    }
    check_.score = make_score(wanted.rules, work, speeds);
    if (!request_.checked || !request_.checked->score || wanted.puzzles) return;
    // The earlier check looked at the puzzles; this one only takes times.
    for (const ScoreItem& item : request_.checked->score->items) {
      auto& items = check_.score->items;
      const auto same = std::find_if(items.begin(), items.end(), [&](const ScoreItem& each) {
        return each.stage == item.stage && each.item == item.item;
      });
      if (item.item == "puzzles" && same != items.end()) *same = item;
    }
  }

  // With the precision class of the check, which the grader may have found.
  [[nodiscard]] StageInfo as_judged(StageInfo stage) const {
    for (const RunResult& run : check_.result.runs) {
      if (run.stage.id == stage.id) stage.precision = run.stage.precision;
    }
    return stage;
  }

  SpeedOutcome measure(const ScoreRequest& wanted, const ScoreRule& rule, const StageInfo& stage,
                       const GradedNetwork& network) {
    SpeedOutcome outcome{.stage = rule.stage, .batch = rule.batch};
    if (!wanted.measures_speed) {
      outcome.why_not = kSpeedLeftOut;
    } else if (!std::filesystem::exists(wanted.reference)) {
      outcome.why_not = "no reference solution here";
    } else {
      const auto is_settled = [&](const SpeedMeasure& measure) {
        return points_for(measure, rule, wanted.rules.tolerance).decided;
      };
      outcome = measure_speed(submission_,
                              {.stage = stage,
                               .batch = rule.batch,
                               .program = wanted.reference,
                               .reference = rule.reference,
                               .rounds = wanted.rules.rounds,
                               .is_settled = is_settled},
                              network, observer_.announce);
    }
    return outcome;
  }

  const GradeRequest& request_;
  const GradeObserver& observer_;
  Submission submission_;
  CheckResult check_;
  bool looked_closer_ = false;  ///< the last wrong case was explained by the emulated device
  std::map<std::string, std::size_t> cases_of_;  ///< planned, by stage
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

CheckResult grade(const GradeRequest& request, const GradeObserver& observer) {
  return Grading(request, observer).run();
}

}  // namespace convlab::grader
