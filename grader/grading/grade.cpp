#include "grader/grading/grade.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "common/error/error.hpp"
#include "common/result/add_device.hpp"
#include "grader/checks/behaviour_check.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/graded_network.hpp"
#include "grader/checks/network_check.hpp"
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
    // Emulating 10 000 images takes a quarter of an hour; who wants that names the batch.
    std::vector<int> batches = request_.batches;
    if (batches.empty()) batches = {100, 1000};
    if (request_.batches.empty() && !is_emulated()) batches.push_back(10'000);
    const int largest = *std::max_element(batches.begin(), batches.end());
    GradedNetwork network(request_.network, largest);
    if (!stages.empty()) {
      const std::uint64_t seed = request_.seed.value_or(std::random_device{}());
      bool good = true;
      for (const StageInfo& stage : stages) good &= check(stage, batches, seed, network);
      add_device(check_.result, submission_.device().measured);
      if (good) check_.result.verdict = Verdict::kPassed;
    }
    if (request_.score) score(*request_.score, stages, batches, network);
    return std::move(check_);
  }

 private:
  [[nodiscard]] bool is_emulated() const {
    return submission_.device().device == Device::kEmulated;
  }

  // Keeps a finding and tells it; false if there is one.
  bool passes(const StageInfo& stage, const std::optional<Finding>& finding) {
    if (!finding) return true;
    check_.findings.push_back(*finding);
    check_.findings.back().stage = stage.id;
    // What does not compile has shown its errors.
    if (!request_.unbuilt) check_.findings.back().compiler = request_.warnings;
    check_.result.verdict = Verdict::kFailed;
    observer_.found(stage, check_.findings.back());
    return false;
  }

  // Starts the program and learns its stages and its device; none if there is nothing to check.
  std::vector<StageInfo> list_stages() {
    std::vector<StageInfo> stages;
    if (!passes({}, request_.unbuilt)) {
      if (request_.score) submission_.list_stages(stages);  // what was built last knows the device
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
    return chosen(stages, request_);
  }

  // From the first case to the last batch; false if the stage fell short.
  bool check(const StageInfo& stage, const std::vector<int>& batches, std::uint64_t seed,
             GradedNetwork& network) {
    const Announce announce = [&](const std::string& what) {
      observer_.announce(stage.id + ": " + what);
    };
    std::size_t done = 0;
    for (const ElementCase& test : element_cases()) {
      announce("case " + std::to_string(++done) + " of " + std::to_string(element_cases().size()) +
               ", " + test.name);
      const CaseOutcome outcome = run_case(submission_, stage, test, seed + done);
      check_.cases.push_back(outcome.result);
      if (!passes(stage, outcome.finding)) return false;
    }
    observer_.cases_passed(stage, done);
    if (!passes(stage, check_behaviour(submission_, stage, seed, announce))) return false;
    network.load(announce);
    const LayerTimer time = [&](const CheckedLayer& layer, LayerResult& result) {
      return time_layer(submission_, stage, layer, result);
    };
    for (const int batch : batches) {
      const NetworkOutcome outcome =
          check_network(submission_, stage, task_of(network, batch), announce, time);
      check_.result.runs.push_back(outcome.result);
      observer_.run_ended(outcome.result);
      if (!passes(stage, outcome.finding)) return false;
    }
    const int largest = *std::max_element(batches.begin(), batches.end());
    return passes(stage,
                  check_hidden_batches(submission_, stage, network, largest, seed, announce));
  }

  void score(const ScoreRequest& wanted, const std::vector<StageInfo>& stages,
             const std::vector<int>& batches, const GradedNetwork& network) {
    const CheckedWork work{.check = check_,
                           .only_stage = request_.stage,
                           .batches = batches,
                           .network = request_.network,
                           .emulated = is_emulated(),
                           .cases_in_all = element_cases().size()};
    std::vector<SpeedOutcome> speeds;
    for (const ScoreRule& rule : wanted.rules.items) {
      std::string why;
      if (rule.what != ScoreRule::What::kSpeed || !can_measure(rule, wanted.rules, work, why)) {
        continue;
      }
      const auto stage = std::find_if(stages.begin(), stages.end(),
                                      [&](const StageInfo& each) { return each.id == rule.stage; });
      speeds.push_back(measure(wanted, rule, *stage, network));
      passes(*stage, speeds.back().finding);
    }
    check_.score = make_score(wanted.rules, work, speeds);
  }

  SpeedOutcome measure(const ScoreRequest& wanted, const ScoreRule& rule, const StageInfo& stage,
                       const GradedNetwork& network) {
    SpeedOutcome outcome{.stage = rule.stage, .batch = rule.batch};
    if (!wanted.measures_speed) {
      outcome.why_not = "left out (--no-speed)";
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
};

}  // namespace

CheckResult grade(const GradeRequest& request, const GradeObserver& observer) {
  return Grading(request, observer).run();
}

}  // namespace convlab::grader
