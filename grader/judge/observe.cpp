#include "grader/judge/observe.hpp"

#include <filesystem>
#include <set>
#include <sstream>
#include <utility>

#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"

namespace convlab::grader {

namespace {

Race race_of(const FaultRecord& fault, const ElementCase& test, const SourceText& sources) {
  const RaceFacts& race = *fault.race;
  const bool in_variable = !fault.memory.variable.empty();
  return {
      .finding = finding(message_of(fault, test.shape, sources), "In case '" + test.name + "': "),
      .is_between_warps = race.scope != RaceScope::kWarp,
      .stores_twice = race.first.writes && race.second.writes && !race.updates,
      .is_in_device_memory = !in_variable,
      .is_one_number = in_variable && fault.memory.bytes <= std::int64_t{sizeof(float)}};
}

// Some files divide the batch by the number of their streams, so a wrong image is not all. Of a
// file that is known to be wrong it is enough, where nothing races: a whole batch takes minutes.
CaseOutcome run_observed(Submission& submission, const StageInfo& stage, ElementCase& test,
                         bool one_image, bool is_known, std::uint64_t seed) {
  const int batch = test.shape.batch;
  if (one_image) test.shape.batch = 1;
  CaseOutcome outcome = run_case(submission, stage, test, seed);
  const bool is_asked = !is_known || outcome.call.race;
  if (outcome.finding && batch != test.shape.batch && is_asked) {
    test.shape.batch = batch;
    outcome = run_case(submission, stage, test, seed);
  }
  return outcome;
}

bool took_too_long(const CaseOutcome& outcome) {
  return outcome.finding && is_of_kind(*outcome.finding, "time");
}

}  // namespace

RunEnd end_of(const std::optional<Failure>& failure, bool is_right) {
  if (!failure) return is_right ? RunEnd::kRight : RunEnd::kWrong;
  switch (failure->kind) {
    case Failure::Kind::kExit:
      return RunEnd::kExit;
    case Failure::Kind::kTimeout:
      return RunEnd::kTimeout;
    case Failure::Kind::kFlood:
      return RunEnd::kFlood;
    case Failure::Kind::kMemory:
    case Failure::Kind::kRefused:
      return RunEnd::kMemory;
    default:
      return RunEnd::kFault;
  }
}

Record observe_accesses(const EmulatedProgram& traced, const SourceText& sources,
                        const StageInfo& stage, const CasePlan& plan, std::uint64_t seed,
                        bool is_known, const TimeLimit& limit, const Submission::Settings& host) {
  Record record{.experiment = Experiment::kRaces,
                .mode = Mode::kObserved,
                .precision = stage.precision,
                .end = RunEnd::kRight};
  if (traced.program.empty()) {
    record.end = RunEnd::kNotBuilt;
    record.finding = traced.refused;
    return record;
  }
  // A value read beyond an array decides nothing about races, and the program goes on.
  Submission submission(traced.program, limit,
                        {"CONVLAB_EMU_TRACE=races", "CONVLAB_EMU_READS=forgiven"});
  submission.set(&Submission::Settings::withheld, host.withheld);
  submission.set(&Submission::Settings::host_may_convert, host.host_may_convert);
  submission.set_sources(sources);
  std::vector<StageInfo> stages;
  if (const auto failure = submission.list_stages(stages)) {
    record.end = end_of(failure, false);
    record.finding = explain(*failure, "the list of stages, observed");
    return record;
  }
  std::optional<Race>& found = record.race;
  std::optional<std::pair<ElementCase, std::uint64_t>> unexplained;  // with its seed
  std::set<std::string> places;
  for (ElementCase test : plan.repeated) {
    // Each further case would take its time, too.
    if (record.finding && is_of_kind(*record.finding, "time")) break;
    test.probe = ElementCase::Probe::kKnown;
    const bool one_image = plan.rules == Rules::kCourse;
    CaseOutcome outcome = run_observed(submission, stage, test, one_image, is_known, ++seed);
    if (took_too_long(outcome)) {
      submission.set(&Submission::Settings::patience, kPatience);
      outcome = run_observed(submission, stage, test, one_image, is_known, seed);
      submission.set(&Submission::Settings::patience, 1.0);
    }
    const Call& call = outcome.call;
    if (outcome.finding) record.wrong_cases.push_back(test.name);
    if (outcome.finding && !record.finding) {
      record.end = end_of(call.failure, false);
      record.finding = outcome.finding;
      if (!call.failure) unexplained = {test, seed};
    }
    if (!call.race || !call.race->race) continue;
    std::istringstream each(call.race->race->meeting_places);
    for (std::string place; std::getline(each, place, ',');) places.insert(place);
    if (found && (call.race->race->scope == RaceScope::kWarp || found->is_between_warps)) continue;
    found = race_of(*call.race, test, sources);
  }
  for (const std::string& place : places) {
    found->meeting_places += (found->meeting_places.empty() ? "" : ",") + place;
  }
  if (unexplained && !found && !is_known) {
    auto& [test, its_seed] = *unexplained;
    test.probe = ElementCase::Probe::kNone;
    // Nothing is wrong where a number of the program looked like one that is withheld.
    record.finding = run_case(submission, stage, test, its_seed).finding;
    if (!record.finding) {
      record.end = RunEnd::kRight;
      record.wrong_cases.clear();
    }
  }
  return record;
}

Record find_openmp_race(const std::filesystem::path& program, const SourceText& sources,
                        const StageInfo& stage, std::uint64_t seed, const TimeLimit& limit) {
  Record record{
      .experiment = Experiment::kTeam, .precision = stage.precision, .end = RunEnd::kRight};
  if (program.empty()) return record;  // it has nothing to observe
  Submission traced(program, limit, {"OMP_NUM_THREADS=4"});
  traced.set_sources(sources);
  std::vector<StageInfo> stages;
  std::optional<Failure> failure = traced.list_stages(stages);
  // After the first: many images, many pixels, many maps and channels with little work each. Some
  // regions have several threads only then, by if(…).
  for (const ConvShape& shape :
       {ConvShape{8, 4, 2, 12, 12, 3, 1}, ConvShape{520, 2, 1, 3, 3, 1, 1},
        ConvShape{2, 3, 1, 60, 61, 1, 1}, ConvShape{2, 20, 12, 5, 5, 3, 1}}) {
    if (failure) break;
    const ElementCase test{"several threads", shape, true};
    fill_random(test, seed, traced.prepare(test.shape, Placement::kAligned));
    Call call = traced.run(stage.id);
    if (call.failure && call.failure->kind == Failure::Kind::kTimeout) {
      traced.set(&Submission::Settings::patience, kPatience);
      call = traced.run(stage.id);
    }
    failure = call.failure;
    if (!call.race) continue;
    record.end = RunEnd::kWrong;
    record.finding =
        finding(message_of(*call.race, test.shape, sources), "In case '" + test.name + "': ");
    return record;
  }
  if (!failure) return record;
  record.end = end_of(failure, false);
  record.finding = explain(*failure, "a run whose accesses are observed");
  return record;
}

}  // namespace convlab::grader
