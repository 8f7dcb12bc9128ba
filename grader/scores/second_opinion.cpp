#include "grader/scores/second_opinion.hpp"

#include <set>
#include <utility>

#include "grader/checks/behaviour_check.hpp"
#include "grader/checks/device_analysis.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/measure/stage_steps.hpp"

namespace convlab::grader {

namespace {

bool is_certain(const Finding& finding) {
  return !may_be_luck(finding) && !is_explained(finding);
}

// On a GPU: accesses beyond an allocation, which usually hit another allocation unnoticed.
std::optional<Finding> find_outside(Submission& submission, const StageInfo& stage,
                                    const CasePlan& plan, std::uint64_t seed) {
  submission.set_gpu_memory("guarded");
  std::optional<Finding> found;
  for (const ElementCase& test : plan.repeated) {
    const CaseOutcome outcome = run_case(submission, stage, test, ++seed);
    if (!outcome.finding) continue;
    if (outcome.finding->id == "E-outside") found = outcome.finding;
    break;
  }
  submission.set_gpu_memory("usual");
  submission.restart();
  return found;
}

}  // namespace

bool asks_emulated(const std::optional<Finding>& found) {
  // A GPU names no line of these.
  static const std::set<std::string> without_line = {"E-launch", "E-cuda-call", "E-device-pointer",
                                                     "E-null", "E-timeout"};
  return !found || !is_certain(*found) || without_line.contains(found->id);
}

std::optional<Finding> rehearsal_of(const std::optional<Finding>& found,
                                    std::optional<Finding> emulated,
                                    const std::optional<Race>& race) {
  static const std::set<std::string> limits = {"E-unsupported", "E-timeout", "E-slow", "E-memory"};
  if (emulated && emulated->id == "E-build") {
    if (!found || (found->id != "E-outside" && found->id != "E-exception")) return std::nullopt;
    emulated->title = "it should not compile";
    emulated->seen += "\nnvcc accepts this; on the GPU it ended with " + found->id + ".";
    return emulated;
  }
  const bool same = emulated && found && emulated->id == found->id;
  if (emulated && !same && (limits.contains(emulated->id) || (!found && is_certain(*emulated)))) {
    emulated.reset();
  }
  if (race && race->is_between_warps) return cause_of(emulated.value_or(race->finding), *race);
  return race && !emulated ? race->finding : emulated;
}

Opinion judge(const std::optional<Finding>& found, Finding emulated,
              const std::optional<Luck>& luck, Rules rules) {
  if (found) {
    if (luck) return {luck->finding};
    // A wrong output has another cause than these.
    if (emulated.id == "E-leak" || emulated.id == "E-slices") return {found};
    if (emulated.id != found->id && emulated.id != "E-build") {
      emulated.seen += "\nSeen on the emulated device; the GPU reported " + found->id + ".";
    }
    return {std::move(emulated)};
  }
  const bool counts = holds_everywhere(emulated) || emulated.id == "E-warp-sync";
  if (!luck && !counts) return {};  // a limit of the emulation
  return {luck ? luck->finding : std::move(emulated), rules != Rules::kWorkbook};
}

void SecondOpinion::begin_tracing() {
  const BuildEmulated& build = context_.request.build_emulated;
  if (traced_.valid() || !build) return;
  traced_ = std::async(std::launch::async, [build] { return build(true); });
}

Observed SecondOpinion::observe(const StageInfo& stage, const CasePlan& plan,
                                const std::optional<Finding>& found, std::uint64_t seed) {
  context_.observer.announce(stage.id + ": what orders its threads");
  const BuildEmulated& build = context_.request.build_emulated;
  if (!build || build(false).program.empty()) return {};
  begin_tracing();
  CasePlan watched = plan;
  // A race may need more products than the usual cases have, and outputs for several warps.
  const bool is_known = found && found->product;
  ConvShape shape = is_known ? found->product->shape : ConvShape{1, 2, 6, 5, 4, 5, 1};
  shape.height += 8 * shape.stride, shape.width += 16 * shape.stride;
  if (is_known || plan.rules == Rules::kWorkbook) {
    watched.repeated.push_back({"many products", shape, true});
  }
  return observe_accesses(traced_.get(), SourceText(context_.request.sources), stage, watched,
                          seed);
}

std::unique_ptr<Submission> SecondOpinion::start(const std::filesystem::path& program) const {
  if (program.empty()) return nullptr;
  auto submission = std::make_unique<Submission>(program);
  submission->set_sources(SourceText(context_.request.sources));
  std::vector<StageInfo> stages;
  return submission->list_stages(stages) ? nullptr : std::move(submission);
}

std::optional<Finding> SecondOpinion::openmp_race(const StageInfo& stage,
                                                  std::uint64_t seed) const {
  const SourceText& sources = context_.submission.sources();
  if (!context_.request.build_traced ||
      sources.lines_with({"#pragma", "omp", "parallel"}).empty()) {
    return std::nullopt;
  }
  context_.observer.announce(stage.id + ": what orders its threads");
  const auto traced = start(context_.request.build_traced());
  if (!traced) return std::nullopt;
  traced->set_environment({"OMP_NUM_THREADS=4", "OMP_DYNAMIC=false"});
  // After the first: many images, many pixels, many maps and channels with little work each. Some
  // regions have several threads only then, by if(…).
  for (const ConvShape& shape :
       {ConvShape{8, 4, 2, 12, 12, 3, 1}, ConvShape{520, 2, 1, 3, 3, 1, 1},
        ConvShape{2, 3, 1, 60, 61, 1, 1}, ConvShape{2, 20, 12, 5, 5, 3, 1}}) {
    const ElementCase test{"several threads", shape, true};
    fill_random(test, seed, traced->prepare(test.shape, Placement::kAligned));
    const Call call = traced->run(stage.id);
    if (call.failure && call.failure->kind == Failure::Kind::kTimeout) break;
    if (!call.race) continue;
    return finding(message_of(*call.race, test.shape, sources), "In case '" + test.name + "': ");
  }
  return std::nullopt;
}

std::optional<Finding> SecondOpinion::phases(const StageInfo& stage, const ConvShape& shape,
                                             std::uint64_t seed) const {
  const auto emulated = start(context_.request.build_emulated(false).program);
  return emulated ? check_phases(*emulated, stage, shape, seed) : std::nullopt;
}

std::optional<Finding> SecondOpinion::rehearse(const StageInfo& stage, const CasePlan& plan,
                                               std::uint64_t seed) const {
  const EmulatedProgram built = context_.request.build_emulated(false);
  if (built.program.empty()) return built.refused;
  const auto emulated = start(built.program);
  if (!emulated) return std::nullopt;
  const auto first_finding = [&](const CasePlan& cases) -> std::optional<Finding> {
    std::uint64_t next = seed;
    for (const ElementCase& test : cases.repeated) {
      CaseOutcome outcome = run_case(*emulated, stage, test, ++next);
      if (outcome.finding) return outcome.finding;
    }
    if (auto found = check_second_convolve(*emulated, stage, cases, seed)) return found;
    if (auto found = check_slices(*emulated, stage, cases, seed)) return found;
    if (auto found = check_order(*emulated, stage, cases, seed)) return found;
    return check_leaks(*emulated, stage, cases.repeated.front().shape, seed);
  };
  if (plan.rules == Rules::kWorkbook) return first_finding(plan);
  // One image is quick, but what it shows must hold for the course's batches, too.
  CasePlan small = plan;
  for (ElementCase& test : small.repeated) test.shape.batch = 1;
  return first_finding(small) ? first_finding(plan) : std::nullopt;
}

void SecondOpinion::add_lines(const StageInfo& stage, Finding& found) {
  if (!found.product || !traced_.valid()) return;
  context_.observer.announce(stage.id + ": which lines make this");
  if (const auto traced = start(traced_.get().program)) {
    found.seen += lines_of_product(*traced, stage, *found.product);
  }
}

Opinion SecondOpinion::rehearsed(const StageInfo& stage, const CasePlan& plan, std::uint64_t seed,
                                 const std::optional<Finding>& found) {
  if (!asks_emulated(found)) return {found};
  const GradeRequest& request = context_.request;
  context_.observer.announce(stage.id + ": the same on an emulated device");
  CasePlan again = plan;
  if (found) again.repeated = plan.cases;
  const auto failed = rehearse(stage, again, seed);
  // Traced, an endless loop would take its time once more.
  if (failed && failed->id == "E-timeout" && found && found->id == failed->id) return {failed};
  const auto race = observe(stage, plan, failed, seed).race;
  auto emulated = rehearsal_of(found, failed, race);
  if (!emulated && !found) {
    context_.observer.announce(stage.id + ": with nothing behind its arrays");
    emulated = find_outside(context_.submission, stage, plan, seed);
  }
  if (!emulated) return {found};
  const auto luck = find_luck(request.build_emulated, stage, plan, seed, *emulated, race);
  return judge(found, *emulated, luck, rules_of(request));
}

}  // namespace convlab::grader
