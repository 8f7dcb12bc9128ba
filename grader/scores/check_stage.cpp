#include "grader/scores/check_stage.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include "common/base/whole_file.hpp"
#include "common/emulation/rewrite/source.hpp"
#include "common/program/arguments.hpp"
#include "grader/checks/behaviour_check.hpp"
#include "grader/checks/device_analysis.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/mend/mend.hpp"
#include "grader/checks/probe/probe.hpp"
#include "grader/checks/source_clues.hpp"
#include "grader/measure/measure_speed.hpp"
#include "grader/scores/course_rules.hpp"
#include "grader/scores/second_opinion.hpp"

namespace convlab::grader {

namespace {

std::string warnings_of(const GradeRequest& request) {
  if (!request.work.warnings.empty() || !request.work.build_emulated) return request.work.warnings;
  return request.work.build_emulated(false).warnings;
}

// Whether a change of a few tokens may be what is missing.
bool is_mendable(const Finding& found) {
  return !is_of_kind(found, "certain") || is_of_kind(found, "time");
}

// The exercises of the first milestones must handle every shape; a stage's declaration does not
// matter.
bool supports_one_network(const GradeRequest& request, const StageInfo& stage) {
  return !stage.only_for.empty() && request.milestone == "m4";
}

// The next class to try for a stage that is not exact enough for this one; none after the last.
std::optional<Precision> next_looser(Precision precision) {
  static const std::map<Precision, Precision> looser = {
      {Precision::kFp32, Precision::kTf32},
      {Precision::kTf32, Precision::kTf32Truncated},
      {Precision::kTf32Truncated, Precision::kBf16},
      {Precision::kBf16, Precision::kBf16Truncated},
      {Precision::kBf16Truncated, Precision::kFp16Sums},
      {Precision::kFp16, Precision::kFp16Products},
      {Precision::kFp16Products, Precision::kFp16Sums}};
  const auto next = looser.find(precision);
  return next == looser.end() ? std::nullopt : std::optional(next->second);
}

struct StageChecker : CheckContext {
  StageInfo stage;
  const std::vector<int>& batches;
  std::uint64_t seed;
  GradedNetwork& network;
  const CasePlan plan = plan_for(request, stage, batches);
  const Announce announcer = [this](const std::string& what) { announce(what); };
  std::shared_lock<Machine> sharing{machine};
  SecondOpinion others{*this, stage, plan, seed};
  std::optional<Finding> early_end{};  ///< of the first case that shows one
  std::optional<Finding> refused{};    ///< a warning that the instructor does not leave at that

  bool run() {
    submission.settings.exchanges = true;
    // What the file itself declares would be the bound that it is judged by.
    stage.precision = ladder_stage(stage.id.c_str(), "").precision;
    if (supports_one_network(request, stage) && stage.only_for != request.network) {
      // Not an error in the command: the file declares it, and other stages can still be checked.
      return passes(
          *this, stage,
          finding("E-shapes", "It supports the layers of network " + stage.only_for +
                                  " only; check it with --network " + stage.only_for + "."));
    }
    const bool finds = request.finds_precision;
    stage.precision = request.precision.value_or(stage.precision);
    if (finds) find_precision();
    std::optional<Finding> found = check_in_class();
    if (request.work.build_emulated) found = is_emulated() ? without_luck(found) : rehearsed(found);
    // Whatever it looks like: threads that share the variable of a loop may never end it.
    if (found) {
      if (auto race = others.openmp_race()) {
        const auto alone = wrong_with_one_thread();
        found = alone ? alone : race;
      }
    }
    if (found) others.add_lines(*found);
    if (found) add_mends(*found);
    tell_overflow(found);
    if (!found && refused) {
      fail_runs();
      found = refused;
    }
    if (!found) {
      found = broken_rules(request, submission, stage, plan.repeated.back().shape);
      if (found) fail_runs();
    }
    if (finds && (!found || stage.precision != Precision::kFp32)) {
      observer.tell(stage,
                    {.note = std::string("It computes like ") + describe(stage.precision) + "."});
    }
    return passes(*this, stage, found);
  }

  // The batches that were right before are too small for it.
  void tell_overflow(std::optional<Finding>& found) {
    const std::string why = int_overflow(request, *std::ranges::max_element(batches));
    const std::string at_most = int_overflow(request, kMaxBatch);
    if (!found && why.empty() && !at_most.empty()) {
      observer.tell(stage, {.note = at_most + " No batch of this check is as large."});
    }
    if (!found || checked.result.runs.empty()) return;
    const RunResult& last = checked.result.runs.back();
    const std::string here = int_overflow(request, last.batch);
    if (last.verdict == Verdict::kFailed && !here.empty()) found->cause = here + " " + found->cause;
  }

  [[nodiscard]] bool is_emulated() const { return submission.device().device == Device::kEmulated; }

  [[nodiscard]] std::optional<Finding> time_is_up() const {
    if (std::chrono::steady_clock::now() < request.deadline) return std::nullopt;
    return finding("E-timeout", "The whole check took more than " +
                                    std::to_string(kMostTime.count()) + " hours.");
  }

  // The class that the stage's roundings show.
  void find_precision() {
    observer.announce(stage.id + ": how exactly it computes");
    std::vector<ConvShape> shapes = {plan.phases};
    if (plan.rules == Rules::kCourse) {
      shapes.clear();
      for (const ElementCase& test : plan.repeated) shapes.push_back(test.shape);
    }
    stage.precision = probe::precision_shown(submission, stage, shapes);
  }

  // Checks in the stage's class; if the class must be found, in the tightest that the stage keeps.
  std::optional<Finding> check_in_class() {
    const std::size_t cases = checked.cases.size();
    const std::size_t runs = checked.result.runs.size();
    std::optional<Finding> found = run_checks();
    while (request.finds_precision && found && found->id == "E-precision") {
      const std::optional<Precision> looser = next_looser(stage.precision);
      if (!looser) break;
      stage.precision = *looser;
      checked.cases.resize(cases);
      checked.result.runs.resize(runs);
      found = run_checks();
    }
    return found;
  }

  // An emulated device sees faults that do not show on a GPU. Under the rules of the workbook they
  // count, under their own name; under those of the course they are only warnings.
  std::optional<Finding> without_luck(const std::optional<Finding>& found) {
    if (found && !may_be_luck(*found)) return found;
    const auto [race, wrong] = others.observe(found);
    if (!found && !race) {
      if (wrong) take_back();
      return wrong;
    }
    const bool by_workbook = rules_of(request) == Rules::kWorkbook;
    if (!found) {
      if (by_workbook) return race->finding;
      if (wrong && !others.luck(race->finding, race)) {
        take_back();
        return cause_of(*wrong, *race);
      }
      warn(race->finding);
      return found;
    }
    if (race && race->is_between_warps) return cause_of(*found, *race);
    observer.announce(stage.id + ": whether a GPU would show this");
    const auto luck = others.luck(*found, race);
    if (!luck) return race && race->stores_twice ? cause_of(*found, *race) : found;
    if (by_workbook) return luck->finding;
    const CheckResult before = checked;
    std::erase_if(checked.cases, [&](const CaseResult& test) { return test.stage == stage.id; });
    std::erase_if(checked.result.runs,
                  [&](const RunResult& run) { return run.stage.id == stage.id; });
    const std::filesystem::path usual = submission.program();
    submission.replace_program(luck->program, luck->environment);
    if (request.finds_precision) find_precision();
    const std::optional<Finding> still = check_in_class();
    if (still) {
      checked = before;
      submission.replace_program(usual, {});
      return found;
    }
    warn(luck->finding);
    return std::nullopt;
  }

  // Small changes of the file that make every case right.
  void add_mends(Finding& found) {
    const auto& build = request.work.build_edited;
    if (!build || !is_mendable(found) || checked.cases.empty()) return;
    const CaseResult& last = checked.cases.back();
    if (last.stage != stage.id || last.verdict == Verdict::kPassed) return;
    observer.announce(stage.id + ": which small change makes it right");
    mend::Wrong wrong{.stage = stage,
                      .file = request.work.sources.front().filename(),
                      .text = read_text(request.work.sources.front()),
                      .failing = last.shape,
                      .cases = plan.cases,
                      .seed = last.seed};
    constexpr std::size_t kLongestFile = 40'000;
    if (wrong.text.size() > kLongestFile) return;
    try {
      found.mends = mend::find_mends(wrong, build);
    } catch (const rewrite::TooManySteps&) {  // the finding is told without them
    }
  }

  // A case that one thread gets wrong, too, has another cause than a race.
  std::optional<Finding> wrong_with_one_thread() {
    if (checked.cases.empty() || checked.cases.back().stage != stage.id) return std::nullopt;
    const CaseResult& last = checked.cases.back();
    const auto test = std::ranges::find(plan.cases, last.name, &ElementCase::name);
    if (last.verdict == Verdict::kPassed || test == plan.cases.end()) return std::nullopt;
    submission.replace_program(submission.program(), {"OMP_NUM_THREADS=1"});
    std::optional<Finding> found = run_case(submission, stage, *test, last.seed).finding;
    submission.replace_program(submission.program(), {});
    if (found) found->seen += "\nWith one thread of OpenMP it is wrong, too.";
    return found;
  }

  // What passed before was another computation.
  void take_back() {
    for (CaseResult& test : checked.cases) {
      if (test.stage == stage.id) test.verdict = Verdict::kFailed;
    }
    fail_runs();
  }

  void fail_runs() {
    for (RunResult& run : checked.result.runs) {
      if (run.stage.id == stage.id) run.verdict = Verdict::kFailed;
    }
  }

  std::optional<Finding> rehearsed(const std::optional<Finding>& found) {
    const Opinion opinion = others.rehearsed(found);
    if (!opinion.is_warning) return opinion.finding;
    warn(*opinion.finding);
    return std::nullopt;
  }

  void warn(const Finding& finding) {
    if (request.refused.contains(finding.id)) {
      refused = finding;
      return;
    }
    checked.warnings.push_back(finding);
    checked.warnings.back().stage = stage.id;
    observer.tell(stage, {.finding = finding, .is_forgiven = true});
  }

  // To those who wait; others may take times meanwhile.
  void announce(const std::string& what) {
    observer.announce(stage.id + ": " + what);
    if (!sharing.owns_lock()) return;
    sharing.unlock();
    sharing.lock();
  }

  std::optional<Finding> check_cases() {
    std::size_t done = 0;
    early_end.reset();
    for (const ElementCase& test : plan.cases) {
      if (auto late = time_is_up()) return late;
      announce("case " + std::to_string(++done) + " of " + std::to_string(plan.cases.size()) +
               ", " + test.name);
      const CaseOutcome outcome = run_case(submission, stage, test, seed + done);
      checked.cases.push_back(outcome.result);
      if (outcome.finding) return outcome.finding;
      if (!early_end) early_end = find_early_end(outcome.call, submission.sources());
      if (is_emulated()) others.begin_tracing();
    }
    observer.tell(stage, {.cases_passed = done});
    return std::nullopt;
  }

  // Runs from the first case to the last batch. @return the finding that ends it
  std::optional<Finding> run_checks() {
    // Nothing is timed here, so the GPU's memory may hold what shows in the output.
    submission.settings.gpu_memory = "poisoned";
    std::optional<Finding> wrong = check_cases();
    submission.settings.gpu_memory = "usual";
    if (wrong || request.only_case) return wrong;
    const JudgePhases judge_phases = [&](const Finding& found) -> std::optional<Finding> {
      std::optional<Finding> told = found;
      if (found.id == "E-timed-phase-empty" && request.rules.prolog_may_compute()) {
        submission.settings.exchanges = false;
        return std::nullopt;
      }
      // Only an emulated device can tell a conversion from a hidden convolution, and from a copy of
      // the input that the grader did not find.
      const bool is_open = !is_emulated() && found.id == "E-converted";
      if (is_open && !request.work.build_emulated) return std::nullopt;
      if (is_open ||
          (!is_emulated() && found.id == "E-timed-phase-empty" && request.work.build_emulated)) {
        told = others.phases();
      }
      if (!told || told->id != "E-converted") return is_open ? told : found;
      // The course never asked whether convolve reads the input itself; the network's run does.
      if (plan.rules == Rules::kCourse) submission.settings.exchanges = false;
      warn(*told);
      return std::nullopt;
    };
    if (auto found = check_behaviour(submission, stage, plan, seed, announcer, judge_phases)) {
      if (found->id == "E-no-kernel") take_back();
      return found;
    }
    if (auto race = others.openmp_race()) return race;
    if (auto leak = check_leaks(submission, stage, plan.repeated.front().shape, seed)) {
      // The course never checked this.
      if (plan.rules == Rules::kWorkbook) return leak;
      warn(*leak);
    }
    if (early_end && plan.rules == Rules::kWorkbook) warn(*early_end);
    network.load(announcer);
    if (auto found = run_network()) return found;
    const auto [smallest, largest] = std::minmax_element(batches.begin(), batches.end());
    std::optional<int> hidden_batch;  // of any size where every shape must be right
    if (plan.rules == Rules::kCourse) hidden_batch = *smallest;
    return check_hidden_batches(submission, stage, network, hidden_batch, *largest, seed,
                                announcer);
  }

  // On a GPU, times are taken when all batches are right: the other stages wait only meanwhile.
  std::optional<Finding> run_network() {
    sharing.unlock();  // others may take times
    const std::lock_guard place(machine.networks);
    sharing.lock();
    return run_batches();
  }

  std::optional<Finding> run_batches() {
    // A process that begins with this batch has taken the memory of no other.
    submission.restart();
    std::vector<NetworkOutcome> untimed;
    int largest = 0;
    for (const int batch : batches) {
      if (auto late = time_is_up()) return late;
      if (batch < std::exchange(largest, std::max(batch, largest))) submission.restart();
      NetworkOutcome outcome = check_network(submission, stage, network, batch, announcer);
      if (!outcome.finding && submission.device().device == Device::kGpu) {
        untimed.push_back(std::move(outcome));
      } else if (auto found = finish_run(outcome)) {
        return found;
      }
    }
    if (untimed.empty()) return std::nullopt;
    const int share = omp_get_max_threads();
    std::optional<Finding> found;
    sharing.unlock();
    {
      const std::lock_guard alone(machine);
      omp_set_num_threads(machine.processors);
      for (NetworkOutcome& outcome : untimed) {
        if (!found) found = finish_run(outcome);
      }
      omp_set_num_threads(share);
    }
    sharing.lock();
    return found;
  }

  // Times what is right, and tells the outcome.
  std::optional<Finding> finish_run(NetworkOutcome& outcome) {
    time_network(submission, outcome, announcer);
    checked.result.runs.push_back(outcome.result);
    observer.tell(stage, {.run = outcome.result});
    return outcome.finding;
  }
};

}  // namespace

bool check_stage(const CheckContext& context, const StageInfo& stage,
                 const std::vector<int>& batches, std::uint64_t seed, GradedNetwork& network) {
  return StageChecker{{context}, stage, batches, seed, network}.run();
}

bool passes(const CheckContext& context, const StageInfo& stage,
            const std::optional<Finding>& finding) {
  if (!finding) return true;
  auto& findings = context.checked.findings;
  // A file that does not compile has shown its errors already.
  findings.push_back(context.request.work.unbuilt
                         ? *finding
                         : with_warnings(*finding, warnings_of(context.request)));
  quote_suspects(context.submission.sources(), findings.back());
  findings.back().stage = stage.id;
  context.checked.result.verdict = Verdict::kFailed;
  context.observer.tell(stage, {.finding = findings.back()});
  return false;
}

Rules rules_of(const GradeRequest& request) {
  const bool course = request.work.form != FileInterface::kStages;
  return request.rules.rules.value_or(course ? Rules::kCourse : Rules::kWorkbook);
}

CasePlan plan_for(const GradeRequest& request, const StageInfo& stage,
                  const std::vector<int>& batches) {
  // The course used only batches of hundreds, so the check does, too.
  constexpr int kQuick = 100;
  // One image shows nothing of how images are told apart.
  int batch = kQuick;
  for (const int each : batches) {
    if (each > 1 || batches.size() == 1) batch = std::min(batch, each);
  }
  if (supports_one_network(request, stage)) {
    return course_plan(load_preset(stage.only_for), batch, {});
  }
  if (request.only_case) {
    CasePlan plan = workbook_plan();
    plan.cases = {{"of --case, whole numbers", *request.only_case, true},
                  {"of --case, random", *request.only_case, false}};
    plan.repeated = {plan.cases.front()};
    return plan;
  }
  if (rules_of(request) == Rules::kWorkbook) return workbook_plan();
  const bool has_stride = request.work.form == FileInterface::kCourseWithStride;
  const auto& edition = request.rules.edition;
  return course_plan(load_preset(request.network), batch,
                     edition      ? edition->cases
                     : has_stride ? load_edition("fa23").cases  // the one with a stride
                                  : std::vector<ConvShape>{});
}

}  // namespace convlab::grader
