#include "grader/scores/luck.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "grader/checks/findings/catalogue.hpp"

namespace convlab::grader {

namespace {

constexpr const char* kForgiven = "CONVLAB_EMU_READS=forgiven";
// As floats 0.046 and -24.2, as halves 1.3 and -2.9.
constexpr const char* kNumbersBeyond[] = {"CONVLAB_EMU_READS=forgiven:61",
                                          "CONVLAB_EMU_READS=forgiven:193"};
const std::string kTrace = "CONVLAB_EMU_TRACE=";

bool all_right(Submission& submission, const StageInfo& stage,
               const std::vector<ElementCase>& cases, std::uint64_t seed) {
  return std::all_of(cases.begin(), cases.end(), [&](ElementCase test) {
    test.probe = ElementCase::Probe::kNone;
    return !run_case(submission, stage, test, ++seed).finding;
  });
}

// The same cases with one image each.
std::vector<ElementCase> with_one_image(std::vector<ElementCase> cases) {
  for (ElementCase& test : cases) test.shape.batch = 1;
  return cases;
}

// A case of a file that is known to be wrong: why another one is, too, takes many runs.
CaseOutcome run_without_explaining(Submission& submission, const StageInfo& stage,
                                   const ElementCase& test, std::uint64_t seed) {
  const Arrays arrays = submission.prepare(test.shape, Placement::kAtEnd);
  fill_random(test, seed, arrays);
  CaseOutcome outcome{.call = submission.run(stage.id)};
  const auto tolerance =
      test.exact ? oracle::Tolerance::exact() : oracle::Tolerance::of(stage.precision, test.shape);
  const auto is_right = [&] {
    return oracle::compare(test.shape, arrays.input, arrays.weights, arrays.output, tolerance)
        .passed(test.shape);
  };
  if (outcome.call.failure || !is_right()) outcome.finding = finding("E-wrong", "");
  return outcome;
}

std::optional<Luck> find_luck_in(const BuildEmulated& build, const StageInfo& stage,
                                 const std::vector<ElementCase>& cases, std::uint64_t seed,
                                 const Finding& found, const std::optional<Race>& race) {
  using Settings = std::vector<std::string>;
  // The output must be right with all of these.
  const auto right_in = [&](const std::filesystem::path& program, const Finding& finding,
                            const std::vector<Settings>& all) -> std::optional<Luck> {
    Submission submission(program);
    for (const Settings& settings : all) {
      submission.set_environment(settings);
      if (!all_right(submission, stage, cases, seed)) return std::nullopt;
    }
    return Luck{finding, program, all.front()};
  };
  const auto program = found.id == "E-outside" ? build(false).program : "";
  if (!program.empty()) {
    if (auto luck = right_in(program, found, {{kForgiven}})) return luck;
    // A product with a weight of zero is NaN for NaN, but zero for every number.
    if (auto luck = right_in(program, found, {{kNumbersBeyond[0]}, {kNumbersBeyond[1]}})) {
      return luck;
    }
  }
  if (!race || race->meeting_places.empty()) return std::nullopt;
  const std::string meeting = kTrace + race->meeting_places;
  auto luck = right_in(race->program, race->finding, {{meeting}});
  return luck ? luck : right_in(race->program, race->finding, {{meeting, kForgiven}});
}

}  // namespace

// One image is quick. But some files divide the batch by the number of their streams, and the
// course never ran fewer images.
std::optional<Luck> find_luck(const BuildEmulated& build, const StageInfo& stage,
                              const CasePlan& plan, std::uint64_t seed, const Finding& found,
                              const std::optional<Race>& race) {
  auto luck = find_luck_in(build, stage, with_one_image(plan.repeated), seed, found, race);
  if (luck || plan.rules != Rules::kCourse) return luck;
  return find_luck_in(build, stage, plan.repeated, seed, found, race);
}

Observed observe_accesses(const EmulatedProgram& traced, const SourceText& sources,
                          const StageInfo& stage, const CasePlan& plan, std::uint64_t seed) {
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
  std::set<std::string> places;
  const auto is_slow = [](const CaseOutcome& outcome) {
    const auto& failure = outcome.call.failure;
    return failure && failure->kind != Failure::Kind::kCrash &&
           failure->kind != Failure::Kind::kException;
  };
  for (ElementCase test : plan.repeated) {
    test.probe = ElementCase::Probe::kNone;
    const int batch = test.shape.batch;
    if (plan.rules == Rules::kCourse) test.shape.batch = 1;
    const auto run = observed.wrong ? run_without_explaining : run_case;
    CaseOutcome outcome = run(submission, stage, test, ++seed);
    // Some files divide the batch by the number of their streams.
    if (outcome.finding && batch != test.shape.batch) {
      test.shape.batch = batch;
      outcome = run(submission, stage, test, seed);
    }
    const Call& call = outcome.call;
    if (!observed.wrong && !is_slow(outcome)) observed.wrong = outcome.finding;
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
  return observed;
}

Finding cause_of(const Finding& found, const Race& race) {
  static const std::set<std::string> kept = {"E-barrier", "E-warp", "E-misaligned"};
  static const std::set<std::string> guessed = {"E-wrong",  "E-race", "E-blocks", "E-maps",
                                                "E-images", "E-nan",  "E-index",  "E-terms"};
  // One number that threads share may decide which of them come to the barrier.
  const bool decides = found.id == "E-barrier" && race.is_one_number;
  if (kept.contains(found.id) && !decides) return found;
  // A wrong index that gives exactly these numbers may also hit what other threads write.
  if (found.is_proved && race.is_in_device_memory) return found;
  if (race.stores_twice && !race.is_one_number && !guessed.contains(found.id)) return found;
  Finding told = race.finding;
  if (found.id != "E-race") {
    std::string saw = found.seen.substr(0, found.seen.find('\n'));
    if (saw.ends_with(':')) saw.back() = '.';
    told.seen += "\nThe check saw: " + saw;
  }
  return told;
}

bool may_be_luck(const Finding& finding) {
  static const std::set<std::string> certain = {
      "E-build",          "E-not-implemented", "E-no-stage",  "E-library",   "E-exit",
      "E-launch",         "E-empty-grid",      "E-no-kernel", "E-timeout",   "E-timed-phase-empty",
      "E-slow",           "E-memory",          "E-null",      "E-forbidden", "E-flood",
      "E-device-pointer", "E-cuda-call"};
  return !certain.contains(finding.id) && !is_explained(finding);
}

bool is_explained(const Finding& finding) {
  static const std::set<std::string> explained = {
      "E-stride",        "E-rounded-down", "E-first-map",   "E-channel",
      "E-first-channel", "E-last-channel", "E-first-image", "E-height-width"};
  // Errors that no rounding explains may come from a race.
  return explained.contains(finding.id) || (finding.id == "E-precision" && finding.is_proved);
}

bool holds_everywhere(const Finding& finding) {
  static const std::set<std::string> certain = {
      "E-outside",       "E-misaligned",     "E-uninitialised",  "E-unwritten-memory",
      "E-never-written", "E-partly-written", "E-race",           "E-barrier",
      "E-replay",        "E-warp",           "E-unsynchronised", "E-side-stream",
      "E-leak",          "E-slices"};
  return certain.contains(finding.id);
}

}  // namespace convlab::grader
