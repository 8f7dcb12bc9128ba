#include "grader/judge/check_stage.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "common/base/whole_file.hpp"
#include "common/device/device_info.hpp"
#include "common/emulation/rewrite/source.hpp"
#include "common/serve/finding_texts.hpp"
#include "common/stage/stage.hpp"
#include "grader/checks/behaviour_check.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/mend/mend.hpp"
#include "grader/judge/course_rules.hpp"
#include "grader/judge/experiments.hpp"

namespace convlab::grader {

namespace {

// What the records of the mode and the class that count give points for.
void keep(const Evidence& evidence, const CountedRuns& counted, CheckResult& checked) {
  for (const Record& record : evidence.records) {
    const bool counts = record.mode == counted.counts && record.precision == counted.precision;
    if (!counts) continue;
    for (CaseResult test : record.cases) {
      const bool is_taken = counted.takes_all || counted.wrong_cases.contains(test.name);
      if (is_taken) test.verdict = Verdict::kFailed;
      checked.cases.push_back(std::move(test));
    }
    for (RunResult run : record.runs) {
      if (counted.takes_all || counted.takes_network) run.verdict = Verdict::kFailed;
      checked.result.runs.push_back(std::move(run));
    }
  }
}

bool runs_kernels(const GradeRequest& request) {
  return request.work.device.value_or(Device::kCpu) != Device::kCpu;
}

// Small changes of the file that make every case right. They are looked for when the verdict is
// known, and change only what is told.
void add_mends(const CheckContext& context, const StageInfo& stage, const CasePlan& cases,
               std::uint64_t seed, Finding& found) {
  const GradeRequest& request = context.request;
  constexpr std::size_t kLongestFile = 40'000;
  const bool is_wanted = request.mend == MendSearch::kAlways ||
                         (request.mend == MendSearch::kUsual && request.milestone != "m4");
  const auto& checked = context.checked.cases;
  const auto failed = std::find_if(checked.rbegin(), checked.rend(), [&](const CaseResult& each) {
    return each.stage == stage.id && each.verdict != Verdict::kPassed;
  });
  // Where all cases are right, a shape that was drawn is wrong, or nothing that a case would show.
  const bool is_drawn = failed == checked.rend();
  if (!request.work.build_edited || !is_wanted || is_of_kind(found, "unmendable") ||
      (is_drawn && !found.smallest_shape)) {
    return;
  }
  mend::Wrong wrong{.stage = stage,
                    .file = request.work.sources.front().filename(),
                    .text = read_text(request.work.sources.front()),
                    .id = found.id,
                    .runs_kernels = runs_kernels(request),
                    .cases = cases.cases,
                    .seed = seed};
  if (is_drawn) {
    std::ranges::copy(drawn_cases(seed), std::back_inserter(wrong.cases));
  } else {
    wrong.failing = failed->shape;
    wrong.failing_case = failed->name;
    wrong.seed = failed->seed;
  }
  if (const auto& smallest = found.smallest_shape;
      smallest && (is_drawn || smallest->multiply_adds() < failed->shape.multiply_adds())) {
    wrong.failing = *smallest;
  }
  if (wrong.text.size() > kLongestFile) return;
  context.observer.announce(stage.id + ": which small change makes it right");
  try {
    found.mends = mend::find_mends(wrong, request.work.build_edited);
  } catch (const rewrite::TooManySteps&) {  // the finding is told without them
  }
}

// As a person reads it. The texts are joined of parts, of which blanks are left.
Finding told(Finding finding, const CheckContext& context, const StageInfo& stage) {
  finding.stage = stage.id;
  finding.cause = without_blank_ends(finding.cause);
  finding.next = without_blank_ends(finding.next);
  address(finding, context.request.milestone, SourceText(context.request.work.sources));
  return finding;
}

}  // namespace

bool check_stage(const CheckContext& context, StageInfo stage, const std::vector<int>& batches,
                 std::uint64_t seed, GradedNetwork& network) {
  const GradeRequest& request = context.request;
  // What the file itself declares would be the bound that it is judged by.
  stage.precision = request.precision.value_or(ladder_stage(stage.id.c_str(), "").precision);
  Experiments experiments(context, stage, batches, seed, network);
  Evidence evidence = experiments.begin();
  evidence.demands = {.any_shape = plan_for(request, stage, batches).rules == Rules::kWorkbook,
                      .finds_precision = request.finds_precision,
                      .one_case = request.only_case.has_value(),
                      .refused = request.refused,
                      .forgives = rules_of(request) == Rules::kCourse,
                      .prolog_may_compute = request.rules.prolog_may_compute(),
                      .has_task_rules = request.rules.task || !rules_to_keep(request).empty()};
  while (const auto next = plan(evidence, evidence.demands)) {
    evidence.records.push_back(experiments.run(*next));
  }
  Judgement verdict = judge(evidence, evidence.demands);
  keep(evidence, verdict.runs, context.checked);
  const auto mend = [&](Finding& found) {
    add_mends(context, stage, plan_for(request, stage, batches), seed, found);
  };
  if (verdict.finding && !runs_kernels(request)) mend(*verdict.finding);
  context.checked.evidence.push_back(std::move(evidence));
  for (const Finding& warning : verdict.warnings) {
    context.checked.warnings.push_back(told(warning, context, stage));
    context.observer.tell(stage, {.finding = context.checked.warnings.back(), .is_forgiven = true});
  }
  if (request.finds_precision && (!verdict.finding || verdict.runs.precision != Precision::kFp32)) {
    context.observer.tell(
        stage, {.note = std::string("It computes like ") + describe(verdict.runs.precision) + "."});
  }
  if (passes(context, stage, verdict.finding)) return true;
  // The search takes longer than the check: what was found is told first.
  if (runs_kernels(request)) {
    Finding& told = context.checked.findings.back();
    mend(told);
    if (!told.mends.empty()) context.observer.tell(stage, {.mended = told});
  }
  return false;
}

bool passes(const CheckContext& context, const StageInfo& stage,
            const std::optional<Finding>& finding) {
  if (!finding) return true;
  context.checked.findings.push_back(told(*finding, context, stage));
  context.checked.result.verdict = Verdict::kFailed;
  context.observer.tell(stage, {.finding = context.checked.findings.back()});
  return false;
}

bool starts(const CheckContext& context, const std::optional<Finding>& finding) {
  if (!finding) return true;
  Evidence evidence;
  Record& start = evidence.records.emplace_back();
  start.experiment = Experiment::kStart;
  start.end = context.request.work.unbuilt ? RunEnd::kNotBuilt : RunEnd::kFault;
  start.finding = finding;
  evidence.records.push_back(source_record(context, *finding));
  context.checked.evidence = {evidence};
  return passes(context, {}, judge(evidence, evidence.demands).finding);
}

bool supports_one_network(const GradeRequest& request, const StageInfo& stage) {
  return !stage.only_for.empty() && request.milestone == "m4";
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
