#include "grader/scores/second_opinion.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "grader/checks/behaviour_check.hpp"
#include "grader/checks/device_analysis.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/measure/stage_steps.hpp"

namespace convlab::grader {

namespace {

constexpr const char* kForgiven = "CONVLAB_EMU_READS=forgiven";
// As floats 0.046 and -24.2, as halves 1.3 and -2.9.
constexpr const char* kNumbersBeyond[] = {"CONVLAB_EMU_READS=forgiven:61",
                                          "CONVLAB_EMU_READS=forgiven:193"};
const std::string kTrace = "CONVLAB_EMU_TRACE=";

std::vector<ElementCase> of_one_image(std::vector<ElementCase> cases) {
  for (ElementCase& test : cases) test.shape.batch = 1;
  return cases;
}

}  // namespace

Finding cause_of(const Finding& found, const Race& race) {
  // One number that threads share may decide which of them come to the barrier.
  const bool decides = found.id == "E-barrier" && race.is_one_number;
  if (is_of_kind(found, "before-race") && !decides) return found;
  // A wrong index that gives exactly these numbers may also hit what other threads write.
  if (found.is_proved && race.is_in_device_memory) return found;
  if (race.stores_twice && !race.is_one_number && !is_of_kind(found, "guessed")) return found;
  Finding told = race.finding;
  if (found.id != "E-race") {
    std::string saw = found.seen.substr(0, found.seen.find('\n'));
    if (saw.ends_with(':')) saw.back() = '.';
    told.seen += "\nThe check saw: " + saw;
  }
  return told;
}

bool may_be_luck(const Finding& finding) {
  // Errors that no rounding explains may come from a race.
  const bool is_rounding = finding.id == "E-precision" && finding.is_proved;
  return !is_of_kind(finding, "certain") && !is_of_kind(finding, "explained") && !is_rounding;
}

bool asks_emulated(const std::optional<Finding>& found) {
  return !found || !is_of_kind(*found, "certain") || is_of_kind(*found, "place-on-emulated");
}

std::optional<Finding> rehearsal_of(const std::optional<Finding>& found,
                                    std::optional<Finding> emulated,
                                    const std::optional<Race>& race) {
  if (emulated && emulated->id == "E-build") {
    if (!found || (found->id != "E-outside" && found->id != "E-exception")) return std::nullopt;
    emulated->title = "it should not compile";
    emulated->seen += "\nnvcc accepts this; on the GPU it ended with " + found->id + ".";
    return emulated;
  }
  const bool same = emulated && found && emulated->id == found->id;
  if (emulated && !same &&
      (is_of_kind(*emulated, "limit") || (!found && is_of_kind(*emulated, "certain")))) {
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
  const bool counts = is_of_kind(emulated, "everywhere") || emulated.id == "E-warp-sync";
  if (!luck && !counts) return {};  // a limit of the emulation
  return {luck ? luck->finding : std::move(emulated), rules != Rules::kWorkbook};
}

void SecondOpinion::begin_tracing() {
  const BuildEmulated& build = context_.request.work.build_emulated;
  if (traced_.valid() || !build) return;
  traced_ = std::async(std::launch::async, [build] { return build(true); });
}

Observed observe_accesses(const EmulatedProgram& traced, const SourceText& sources,
                          const StageInfo& stage, const CasePlan& plan, std::uint64_t seed,
                          bool is_known) {
  Observed observed;
  if (traced.program.empty()) return {.wrong = traced.refused};
  Submission submission(traced.program);
  submission.set_sources(sources);
  // A value read beyond an array decides nothing about races, and the program goes on. Both last:
  // explaining a wrong case sets other variables and removes them.
  submission.replace_program(traced.program, {kTrace + "races", kForgiven});
  std::vector<StageInfo> stages;
  if (submission.list_stages(stages)) return observed;
  std::optional<Race>& found = observed.race;
  std::optional<std::pair<ElementCase, std::uint64_t>> unexplained;  // with its seed
  std::set<std::string> places;
  for (ElementCase test : plan.repeated) {
    test.probe = ElementCase::Probe::kKnown;
    const int batch = test.shape.batch;
    if (plan.rules == Rules::kCourse) test.shape.batch = 1;
    CaseOutcome outcome = run_case(submission, stage, test, ++seed);
    // Some files divide the batch by the number of their streams.
    if (outcome.finding && batch != test.shape.batch) {
      test.shape.batch = batch;
      outcome = run_case(submission, stage, test, seed);
    }
    const Call& call = outcome.call;
    // Others may come from observing: it is slow.
    if (!observed.wrong && (!call.failure || call.failure->kind == Failure::Kind::kCrash ||
                            call.failure->kind == Failure::Kind::kException)) {
      observed.wrong = outcome.finding;
      if (outcome.finding && !call.failure) unexplained = {test, seed};
    }
    if (!call.race || !call.race->race) continue;
    std::istringstream each(call.race->race->meeting_places);
    for (std::string place; std::getline(each, place, ',');) places.insert(place);
    const bool is_worse = call.race->race->scope != RaceScope::kWarp;
    if (found && (!is_worse || found->is_between_warps)) continue;
    const FaultMessage message = message_of(*call.race, test.shape, sources);
    const RaceFacts& race = *call.race->race;
    found = Race{.finding = finding(message, "In case '" + test.name + "': "),
                 .is_between_warps = is_worse,
                 .stores_twice = race.first.writes && race.second.writes && !race.updates,
                 .is_in_device_memory = call.race->memory.variable.empty(),
                 .is_one_number = !call.race->memory.variable.empty() &&
                                  call.race->memory.bytes <= std::int64_t{sizeof(float)},
                 .program = traced.program};
  }
  for (const std::string& place : places) {
    found->meeting_places += (found->meeting_places.empty() ? "" : ",") + place;
  }
  if (unexplained && !found && !is_known) {
    auto& [test, its_seed] = *unexplained;
    test.probe = ElementCase::Probe::kNone;
    // Nothing is wrong where a number of the program looked like one that is withheld.
    observed.wrong = run_case(submission, stage, test, its_seed).finding;
  }
  return observed;
}

Observed SecondOpinion::observe(const std::optional<Finding>& found) {
  context_.observer.announce(stage_.id + ": what orders its threads");
  const BuildEmulated& build = context_.request.work.build_emulated;
  if (!build || build(false).program.empty()) return {};
  begin_tracing();
  CasePlan watched = plan_;
  // A race may need more products than the usual cases have, and outputs for several warps.
  const bool is_known = found && found->product;
  ConvShape shape = is_known ? found->product->shape : ConvShape{1, 2, 6, 5, 4, 5, 1};
  shape.height += 8 * shape.stride, shape.width += 16 * shape.stride;
  if (is_known || plan_.rules == Rules::kWorkbook) {
    watched.repeated.push_back({"many products", shape, true});
  }
  return observe_accesses(traced_.get(), SourceText(context_.request.work.sources), stage_, watched,
                          seed_, found.has_value());
}

std::optional<Luck> SecondOpinion::luck(const Finding& found,
                                        const std::optional<Race>& race) const {
  using Settings = std::vector<std::string>;
  std::vector<ElementCase> cases = plan_.repeated;
  for (ElementCase& test : cases) test.probe = ElementCase::Probe::kKnown;
  const std::vector<ElementCase> with_one_image = of_one_image(cases);
  // The output must be right with all of these. One image is quick. But some files divide the batch
  // by the number of their streams, and the course never ran fewer images.
  const auto right_in = [&](const std::filesystem::path& program, const Finding& finding,
                            const std::vector<Settings>& all) -> std::optional<Luck> {
    Submission submission(program);
    for (const Settings& settings : all) {
      submission.set_environment(settings);
      if (!first_finding(submission, stage_, with_one_image, seed_)) continue;
      if (plan_.rules != Rules::kCourse || first_finding(submission, stage_, cases, seed_)) {
        return std::nullopt;
      }
    }
    return Luck{finding, program, all.front()};
  };
  const auto program =
      found.id == "E-outside" ? context_.request.work.build_emulated(false).program : "";
  if (!program.empty()) {
    if (auto own = right_in(program, found, {{kForgiven}})) return own;
    // A product with a weight of zero is NaN for NaN, but zero for every number.
    if (auto own = right_in(program, found, {{kNumbersBeyond[0]}, {kNumbersBeyond[1]}})) {
      return own;
    }
  }
  if (!race || race->meeting_places.empty()) return std::nullopt;
  const std::string meeting = kTrace + race->meeting_places;
  auto own = right_in(race->program, race->finding, {{meeting}});
  return own ? own : right_in(race->program, race->finding, {{meeting, kForgiven}});
}

std::unique_ptr<Submission> SecondOpinion::start(const std::filesystem::path& program) const {
  if (program.empty()) return nullptr;
  auto submission = std::make_unique<Submission>(program);
  submission->set_sources(SourceText(context_.request.work.sources));
  std::vector<StageInfo> stages;
  return submission->list_stages(stages) ? nullptr : std::move(submission);
}

std::optional<Finding> SecondOpinion::openmp_race() const {
  const SourceText& sources = context_.submission.sources();
  if (!context_.request.work.build_traced ||
      sources.lines_with({"#pragma", "omp", "parallel"}).empty()) {
    return std::nullopt;
  }
  context_.observer.announce(stage_.id + ": what orders its threads");
  const auto traced = start(context_.request.work.build_traced());
  if (!traced) return std::nullopt;
  traced->set_environment({"OMP_NUM_THREADS=4", "OMP_DYNAMIC=false"});
  // After the first: many images, many pixels, many maps and channels with little work each. Some
  // regions have several threads only then, by if(…).
  for (const ConvShape& shape :
       {ConvShape{8, 4, 2, 12, 12, 3, 1}, ConvShape{520, 2, 1, 3, 3, 1, 1},
        ConvShape{2, 3, 1, 60, 61, 1, 1}, ConvShape{2, 20, 12, 5, 5, 3, 1}}) {
    const ElementCase test{"several threads", shape, true};
    fill_random(test, seed_, traced->prepare(test.shape, Placement::kAligned));
    const Call call = traced->run(stage_.id);
    if (call.failure && call.failure->kind == Failure::Kind::kTimeout) break;
    if (!call.race) continue;
    return finding(message_of(*call.race, test.shape, sources), "In case '" + test.name + "': ");
  }
  return std::nullopt;
}

std::optional<Finding> SecondOpinion::phases() const {
  const auto emulated = start(context_.request.work.build_emulated(false).program);
  return emulated ? check_phases(*emulated, stage_, plan_.phases, seed_) : std::nullopt;
}

std::optional<Finding> SecondOpinion::rehearse(const CasePlan& plan) const {
  const EmulatedProgram built = context_.request.work.build_emulated(false);
  if (built.program.empty()) return built.refused;
  const auto emulated = start(built.program);
  if (!emulated) return std::nullopt;
  const auto finding_of = [&](const CasePlan& cases) {
    auto found = first_finding(*emulated, stage_, cases.repeated, seed_);
    if (!found) found = check_emulated(*emulated, stage_, cases, seed_);
    return found ? found : check_leaks(*emulated, stage_, cases.repeated.front().shape, seed_);
  };
  if (plan.rules == Rules::kWorkbook) return finding_of(plan);
  // One image is quick, but what it shows must hold for the course's batches, too.
  CasePlan small = plan;
  small.repeated = of_one_image(plan.repeated);
  return finding_of(small) ? finding_of(plan) : std::nullopt;
}

void SecondOpinion::add_lines(Finding& found) {
  if (!found.product || !traced_.valid()) return;
  context_.observer.announce(stage_.id + ": which lines make this");
  if (const auto traced = start(traced_.get().program)) {
    found.seen += lines_of_product(*traced, stage_, *found.product);
  }
}

Opinion SecondOpinion::rehearsed(const std::optional<Finding>& found) {
  if (!asks_emulated(found)) return {found};
  context_.observer.announce(stage_.id + ": the same on an emulated device");
  CasePlan again = plan_;
  if (found) again.repeated = plan_.cases;
  const auto failed = rehearse(again);
  // Traced, an endless loop would take its time once more.
  if (failed && failed->id == "E-timeout" && found && found->id == failed->id) return {failed};
  const auto race = observe(failed).race;
  auto emulated = rehearsal_of(found, failed, race);
  if (!emulated && !found) {
    context_.observer.announce(stage_.id + ": with nothing behind its arrays");
    // Accesses beyond an allocation, which usually hit another allocation unnoticed.
    Submission& submission = context_.submission;
    submission.settings.gpu_memory = "guarded";
    emulated = first_finding(submission, stage_, plan_.repeated, seed_);
    if (emulated && emulated->id != "E-outside") emulated.reset();
    submission.settings.gpu_memory = "usual";
    submission.restart();
  }
  if (!emulated) return {found};
  return judge(found, *emulated, luck(*emulated, race), rules_of(context_.request));
}

}  // namespace convlab::grader
