#include "grader/checks/check.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "common/data/dataset.hpp"
#include "common/data/resize.hpp"
#include "common/error/error.hpp"
#include "common/result/device_report.hpp"
#include "grader/checks/behaviour_check.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/network_check.hpp"
#include "grader/findings/catalogue.hpp"
#include "grader/submission/gpu_probe.hpp"
#include "reference/oracle/expected.hpp"

namespace convlab::grader {

namespace {

std::vector<StageInfo> chosen(const std::vector<StageInfo>& stages, const CheckRequest& request) {
  if (!request.stage) return stages;
  std::string known;
  for (const StageInfo& stage : stages) {
    if (stage.id == *request.stage) return {stage};
    known += (known.empty() ? "" : ", ") + stage.id;
  }
  throw UsageError("There is no stage '" + *request.stage + "' in " + request.milestone +
                   "; the stages are: " + known + ".");
}

/// Data and network, loaded when the first stage gets that far: a failing case is told at once.
class Material {
 public:
  Material(std::string network, int largest_batch)
      : name_(std::move(network)), largest_batch_(largest_batch) {
    load_preset(name_);  // an unknown name is told before anything runs
  }

  NetworkTask task(int batch, const Announce& announce) {
    if (!network_) {
      announce("loading the test images");
      dataset_ = load_dataset(Split::kTest);
      network_.emplace(load_network(name_));
      images_ = resize_images(dataset_, largest_batch_, network_->preset().image_size);
      announce("looking up what the network must answer");
      expected_ = oracle::expected_for(*network_, dataset_, largest_batch_);
    }
    return {*network_, images_, dataset_.labels, expected_, batch};
  }

 private:
  std::string name_;
  int largest_batch_;
  std::optional<Network> network_;
  Dataset dataset_;
  std::vector<float> images_;
  oracle::Expected expected_;
};

/// Batches of a size and from a place of the data that nobody announced.
std::optional<Finding> check_hidden_batches(Submission& submission, const StageInfo& stage,
                                            const CheckRequest& request, std::uint64_t seed,
                                            Material& material, const Announce& announce) {
  if (request.batches.empty()) return std::nullopt;
  const int largest = *std::max_element(request.batches.begin(), request.batches.end());
  constexpr int kBatches = 2;
  constexpr int kMostOnCpu = 40;
  constexpr int kMostEmulated = 8;
  const bool emulated = submission.device().device == Device::kEmulated;
  const int most = std::min(largest, emulated ? kMostEmulated : kMostOnCpu);
  std::mt19937_64 engine(seed);
  for (int i = 0; i < kBatches; ++i) {
    const int batch = 1 + static_cast<int>(engine() % static_cast<unsigned>(most));
    NetworkTask task = material.task(batch, announce);
    task.first = static_cast<int>(engine() % static_cast<unsigned>(largest - batch + 1));
    task.timed = false;
    const NetworkOutcome outcome = run_network(submission, stage, task, announce);
    if (!outcome.finding) continue;
    const bool numbers = !outcome.result.layers.empty() && outcome.result.layers.back().error &&
                         outcome.result.layers.back().error->wrong > 0;
    return numbers ? finding("E-shapes", outcome.finding->seen) : outcome.finding;
  }
  return std::nullopt;
}

/// One stage from the first case to the last batch; false if it fell short.
bool check_stage(Submission& submission, const StageInfo& stage, const CheckRequest& request,
                 std::uint64_t seed, Material& material, const CheckObserver& observer,
                 Result& result) {
  const auto report = [&](const std::optional<Finding>& finding) {
    if (!finding) return true;
    result.findings.push_back(*finding);
    result.findings.back().stage = stage.id;
    observer.found(stage, *finding);
    return false;
  };
  std::size_t done = 0;
  for (const ElementCase& test : element_cases()) {
    if (!request.cases) break;
    observer.announce(stage.id + ": case " + std::to_string(++done) + " of " +
                      std::to_string(element_cases().size()) + ", " + test.name);
    const CaseOutcome outcome = run_case(submission, stage, test, seed + done);
    result.cases.push_back(outcome.result);
    if (!report(outcome.finding)) return false;
  }
  if (request.cases) observer.cases_passed(stage, done);
  const Announce announce = [&](const std::string& what) {
    observer.announce(stage.id + ": " + what);
  };
  if (request.cases && !report(check_behaviour(submission, stage, seed, announce))) return false;
  for (const int batch : request.batches) {
    NetworkTask task = material.task(batch, announce);
    if (request.beside) {
      task.beside = [&](int layer, const ConvShape& shape, const Arrays& given) {
        request.beside(stage, batch, layer, shape, given);
      };
    }
    const NetworkOutcome outcome = run_network(submission, stage, task, announce);
    result.runs.push_back(outcome.result);
    observer.run_ended(outcome.result);
    if (!report(outcome.finding)) return false;
  }
  if (!request.cases) return true;
  return report(check_hidden_batches(submission, stage, request, seed, material, announce));
}

}  // namespace

Result check(const CheckRequest& request, const CheckObserver& observer) {
  Result result{.program = "grader check",
                .milestone = request.milestone,
                .solution = request.solution,
                .created = utc_now(),
                .machine = describe_machine(),
                .verdict = Verdict::kFailed};
  const int largest = request.batches.empty()
                          ? 1
                          : *std::max_element(request.batches.begin(), request.batches.end());
  Material material(request.network, largest);

  const auto stop = [&](const Finding& finding) {
    result.findings.push_back(finding);
    observer.found({}, finding);
    return result;
  };
  Submission submission(request.program, request.time_limit);
  std::vector<StageInfo> stages;
  if (const std::optional<Failure> failure = submission.list_stages(stages)) {
    result.isolation = describe(submission.isolation());
    return stop(explain(*failure, "the list of stages"));
  }
  refuse_silent_emulation(submission.device());
  if (stages.empty()) {
    return stop(finding("E-no-stage", "The program lists no stage."));
  }
  const std::uint64_t seed = request.seed.value_or(std::random_device{}());
  bool good = true;
  for (const StageInfo& stage : chosen(stages, request)) {
    good &= check_stage(submission, stage, request, seed, material, observer, result);
  }
  result.isolation = describe(submission.isolation());
  add_to(result, submission.device().report);
  if (good) result.verdict = Verdict::kPassed;
  return result;
}

}  // namespace convlab::grader
