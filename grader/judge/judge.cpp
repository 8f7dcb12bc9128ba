// From the evidence of a stage to its verdict.
//
// Idea     Runs write records (evidence.hpp). kRulings, at the end of this file, is the order in
// which
//          they win: the first row that has something to say gives the verdict. A row also says
//          which record it rests on; the first one that is missing is the next run. So plan() and
//          judge() cannot disagree, and recorded evidence is judged without a run.

#include "grader/judge/judge.hpp"

#include <algorithm>
#include <utility>

#include "grader/checks/findings/catalogue.hpp"
#include "grader/judge/usual_checks.hpp"

namespace convlab::grader {

namespace {

// ---- what the records say together -----------------------------------------------------------

/// The modes in which a GPU would run a file on which an emulated device finds a fault, from the
/// one that forgives least.
constexpr Mode kAsOnGpus[] = {Mode::kReadsForgiven, Mode::kNumbersBeyond, Mode::kInStep,
                              Mode::kInStepForgiven};

/// A fault that GPUs forgive, and the mode in which it does not change the result.
struct Luck {
  Finding finding{};
  Mode mode = Mode::kPlain;
};

/// The records of all experiments beside the usual ones.
struct Bench {
  const Evidence& evidence;
  const Demands& demands;
  UsualChecks usual;
  const Record* team = nullptr;
  const Record* alone = nullptr;
  const Record* rehearsal = nullptr;
  const Record* races = nullptr;
  const Record* guarded = nullptr;
  Found found{};  ///< by the usual experiments
  std::optional<Race> race{};
  Found unobserved{};  ///< what is wrong only when every access is observed
  Found emulated{};    ///< on a GPU: what the emulated device says of it
  Found suspected{};   ///< of which a GPU may forgive
  std::optional<Luck> luck{};
  std::optional<Mode> next_luck{};         ///< that must run before `luck` is known
  std::optional<UsualChecks> as_on_gpu{};  ///< the usual experiments in the mode of `luck`

  [[nodiscard]] bool on_gpu() const { return evidence.device == Device::kGpu; }
};

/// A row's answer; empty if it has none.
using Ruled = std::optional<Judgement>;

Judgement judged(const Bench& bench, const Found& finding) {
  return {.finding = finding,
          .warnings = bench.usual.warnings,
          .runs = {.precision = bench.usual.precision,
                   .wrong_cases = bench.usual.wrong_cases,
                   .takes_all = bench.usual.takes_all}};
}

// A race takes the points of what it makes wrong; so does what is right only unobserved.
Judgement with_observed(const Bench& bench, Judgement verdict) {
  verdict.runs.wrong_cases.insert(bench.races->wrong_cases.begin(), bench.races->wrong_cases.end());
  verdict.runs.takes_network = !bench.races->wrong_cases.empty();
  return verdict;
}

Judgement taking_all(Judgement verdict) {
  verdict.runs.takes_all = true;
  return verdict;
}

// Errors that no rounding explains may come from a race.
bool may_be_luck(const Finding& found) {
  const bool is_rounding = is_of_kind(found, "rounding") && found.is_proved;
  return !is_of_kind(found, "certain") && !is_of_kind(found, "explained") && !is_rounding;
}

// What a run found; where it has ended without a right output and says nothing, that.
Found found_in(const Record& record) {
  if (record.finding || record.end == RunEnd::kRight) return record.finding;
  return no_answer(record.experiment, record.mode);
}

// Whether the emulated device may know more than what a GPU has found.
bool asks_emulated(const Found& found) {
  return !found || !is(found, "certain") || is(found, "place-on-emulated");
}

// What the emulation does not support. That a run gives no answer is no such limit: what shows
// nothing does not pass.
bool is_limit(const Found& found) {
  return is(found, "limit") && !is(found, "no-answer");
}

// What a rehearsal says, without the limits of emulation and with a race as the cause of what it
// causes.
Found of_rehearsal(const Bench& bench) {
  Found emulated = found_in(*bench.rehearsal);
  const Found& found = bench.found;
  if (is(emulated, "compiler")) {
    if (!is(found, "uncompiled")) return std::nullopt;
    emulated->title = "it should not compile";
    emulated->seen += "\nnvcc accepts this; on the GPU it ended with " + found->id + ".";
    return emulated;
  }
  const bool same = emulated && found && emulated->id == found->id;
  if (emulated && !same) {
    const bool is_no_fault = is_limit(emulated) || (found && is(emulated, "limit"));
    const bool cannot_hide = !found && is(emulated, "certain") && !is(emulated, "no-answer");
    if (is_no_fault || cannot_hide) emulated.reset();
  }
  const auto& race = bench.race;
  if (race && race->is_between_warps) return cause_of(emulated.value_or(race->finding), *race);
  if (race && !emulated) return race->finding;
  const bool can_observe = !is(bench.unobserved, "compiler") && !is_limit(bench.unobserved);
  if (!emulated && !found && can_observe) return bench.unobserved;
  return emulated;
}

// Whether `luck` is known, and what it is.
void find_luck(Bench& bench) {
  const auto& race = bench.race;
  const bool can_meet = race && !race->meeting_places.empty();
  for (const Mode mode : kAsOnGpus) {
    const bool of_reads = mode == Mode::kReadsForgiven || mode == Mode::kNumbersBeyond;
    if (of_reads ? !is(bench.suspected, "neighbours") : !can_meet) continue;
    const Record* record = bench.evidence.find(Experiment::kQuickCases, mode);
    if (record == nullptr) {
      bench.next_luck = mode;
      return;
    }
    if (record->end != RunEnd::kRight) continue;
    bench.luck = Luck{of_reads ? *bench.suspected : race->finding, mode};
    return;
  }
}

Bench bench_of(const Evidence& evidence, const Demands& demands) {
  Bench bench{.evidence = evidence,
              .demands = demands,
              .usual = read_usual_checks(evidence, demands, Mode::kPlain)};
  if (bench.usual.next) return bench;
  bench.found = bench.usual.found;
  bench.team = evidence.find(Experiment::kTeam, Mode::kPlain);
  bench.alone = evidence.find(Experiment::kFailedCase, Mode::kOneThread);
  bench.rehearsal = evidence.find(Experiment::kRehearsal, Mode::kEmulated);
  bench.races = evidence.find(Experiment::kRaces, Mode::kObserved);
  bench.guarded = evidence.find(Experiment::kQuickCases, Mode::kGuarded);
  if (bench.races == nullptr) return bench;
  bench.race = bench.races->race;
  bench.unobserved = found_in(*bench.races);
  if (!bench.on_gpu()) {
    if (bench.found && !(bench.race && bench.race->is_between_warps)) {
      bench.suspected = bench.found;
    } else if (!bench.found && bench.race && bench.unobserved && demands.forgives) {
      bench.suspected = bench.race->finding;
    }
  } else if (bench.rehearsal != nullptr) {
    bench.emulated = of_rehearsal(bench);
    // Accesses beyond an allocation, which usually hit another allocation unnoticed.
    if (!bench.emulated && bench.guarded != nullptr && is(bench.guarded->finding, "neighbours")) {
      bench.emulated = bench.guarded->finding;
    }
    bench.suspected = bench.emulated;
  }
  if (bench.suspected) find_luck(bench);
  if (bench.luck && bench.found && !bench.on_gpu() && demands.forgives) {
    bench.as_on_gpu = read_usual_checks(evidence, demands, bench.luck->mode);
  }
  return bench;
}

NextRun once_more(const Bench& bench, Experiment experiment, Mode mode) {
  return {experiment, mode, bench.usual.precision, true, bench.found, {}};
}

// What the instructor does not leave at a warning.
void refuse_warnings(const Demands& demands, Judgement& ruled) {
  const auto refused = std::ranges::find_if(
      ruled.warnings, [&](const Finding& warning) { return demands.refused.contains(warning.id); });
  if (refused == ruled.warnings.end()) return;
  if (!ruled.finding) {
    ruled.finding = *refused;
    ruled.runs.takes_network = true;
  }
  ruled.warnings.erase(refused);
}

// ---- the order ---------------------------------------------------------------------------------

/// A sentence of docs/grading.md, "From runs to a verdict".
struct Ruling {
  const char* words;
  /// The run that it rests on, unless that has been made; may be null.
  std::optional<NextRun> (*needs)(const Bench&);
  /// May be null.
  Ruled (*rule)(const Bench&);
};

const Ruling kRulings[] = {
    {"a program that is not built, or lists no stages, is told why",  //
     nullptr,
     [](const Bench& bench) -> Ruled {
       const Record* start = bench.evidence.find(Experiment::kStart, Mode::kPlain);
       if (start == nullptr) return std::nullopt;
       return Judgement{.finding = start->finding};
     }},
    {"a stage that says it supports another network is not run",  //
     nullptr,
     [](const Bench& bench) -> Ruled {
       const auto& other = bench.evidence.only_for;
       if (!other) return std::nullopt;
       return Judgement{
           .finding = finding("E-shapes", "It supports the layers of network " + *other +
                                              " only; check it with --network " + *other + ".")};
     }},
    {"the usual experiments end at the first finding that counts",
     [](const Bench& bench) { return bench.usual.next; }, nullptr},
    {"whatever it looks like, threads of OpenMP that race may be the cause",
     [](const Bench& bench) -> std::optional<NextRun> {
       if (!bench.found || !bench.evidence.has_regions || bench.team != nullptr) return {};
       return once_more(bench, Experiment::kTeam, Mode::kPlain);
     },
     nullptr},
    {"a case that one thread gets wrong, too, has another cause than their race",
     [](const Bench& bench) -> std::optional<NextRun> {
       const Record* cases =
           bench.evidence.find(Experiment::kCases, Mode::kPlain, bench.usual.precision);
       const bool is_wrong = cases != nullptr && !cases->wrong_cases.empty();
       if (bench.team == nullptr || !bench.team->finding || !is_wrong || bench.alone != nullptr) {
         return {};
       }
       return once_more(bench, Experiment::kFailedCase, Mode::kOneThread);
     },
     [](const Bench& bench) -> Ruled {
       if (bench.alone == nullptr || !bench.alone->finding) return std::nullopt;
       Finding alone = *bench.alone->finding;
       alone.seen += "\nWith one thread of OpenMP it is wrong, too.";
       return judged(bench, alone);
     }},
    {"a race of OpenMP's threads is the cause of what else is found", nullptr,
     [](const Bench& bench) -> Ruled {
       if (!bench.found || bench.team == nullptr || !bench.team->finding) return std::nullopt;
       return judged(bench, bench.team->finding);
     }},
    {"what shows only while times are taken counts, too", nullptr,
     [](const Bench& bench) -> Ruled {
       const Record* speed = bench.evidence.find(Experiment::kSpeed, Mode::kPlain);
       if (speed == nullptr || !speed->finding) return std::nullopt;
       return judged(bench, speed->finding);
     }},
    {"what has no other cause on another device is told as it was found", nullptr,
     [](const Bench& bench) -> Ruled {
       const bool is_known =
           bench.on_gpu() ? !asks_emulated(bench.found) : bench.found && !may_be_luck(*bench.found);
       if (bench.evidence.can_emulate && !is_known) return std::nullopt;
       return judged(bench, bench.found);
     }},
    {"what hangs on a GPU and emulated is an endless loop, whose line the emulation knows",
     [](const Bench& bench) -> std::optional<NextRun> {
       if (!bench.on_gpu() || bench.rehearsal != nullptr) return {};
       return once_more(bench, Experiment::kRehearsal, Mode::kEmulated);
     },
     [](const Bench& bench) -> Ruled {
       const Found& emulated = bench.rehearsal == nullptr ? std::nullopt : bench.rehearsal->finding;
       const bool both = is(bench.found, "time") && emulated && emulated->id == bench.found->id;
       return both ? Ruled(judged(bench, emulated)) : std::nullopt;
     }},
    {"what is right only while nobody observes its accesses gets nothing",
     [](const Bench& bench) -> std::optional<NextRun> {
       if (bench.races != nullptr) return {};
       NextRun next = once_more(bench, Experiment::kRaces, Mode::kObserved);
       if (bench.on_gpu()) next.about = bench.rehearsal->finding;
       return next;
     },
     [](const Bench& bench) -> Ruled {
       if (bench.on_gpu() || bench.found || bench.race || !bench.unobserved) return std::nullopt;
       return taking_all(judged(bench, bench.unobserved));
     }},
    {"under the workbook's rules a race counts although the outputs were right", nullptr,
     [](const Bench& bench) -> Ruled {
       if (bench.on_gpu() || bench.found || !bench.race || bench.demands.forgives) {
         return std::nullopt;
       }
       return with_observed(bench, judged(bench, bench.race->finding));
     }},
    {"a race between warps is the cause of what it makes wrong", nullptr,
     [](const Bench& bench) -> Ruled {
       if (bench.on_gpu() || !bench.found || !bench.race || !bench.race->is_between_warps) {
         return std::nullopt;
       }
       return with_observed(bench, judged(bench, cause_of(*bench.found, *bench.race)));
     }},
    {"on a GPU, where the emulation finds nothing, nothing may lie behind its arrays",
     [](const Bench& bench) -> std::optional<NextRun> {
       if (!bench.on_gpu() || bench.found || bench.emulated || bench.guarded != nullptr) return {};
       return once_more(bench, Experiment::kQuickCases, Mode::kGuarded);
     },
     [](const Bench& bench) -> Ruled {
       if (!bench.on_gpu() || bench.emulated) return std::nullopt;
       return judged(bench, bench.found);
     }},
    {"a fault that GPUs forgive counts by its own name; under the course's rules it is a warning",
     [](const Bench& bench) -> std::optional<NextRun> {
       if (!bench.next_luck) return {};
       NextRun next = once_more(bench, Experiment::kQuickCases, *bench.next_luck);
       if (bench.race) next.meeting_places = bench.race->meeting_places;
       return next;
     },
     [](const Bench& bench) -> Ruled {
       if (!bench.luck) return std::nullopt;
       if (bench.on_gpu() && bench.found) return judged(bench, bench.luck->finding);
       if (!bench.demands.forgives) return judged(bench, bench.luck->finding);
       if (!bench.on_gpu() && bench.found) return std::nullopt;
       Judgement passed = judged(bench, std::nullopt);
       passed.warnings.push_back(bench.luck->finding);
       return passed;
     }},
    {"under the course's rules a file passes that passes as GPUs run it",
     [](const Bench& bench) -> std::optional<NextRun> {
       if (!bench.as_on_gpu || !bench.as_on_gpu->next) return {};
       NextRun next = *bench.as_on_gpu->next;
       if (bench.race) next.meeting_places = bench.race->meeting_places;
       return next;
     },
     [](const Bench& bench) -> Ruled {
       if (!bench.as_on_gpu) return std::nullopt;
       if (bench.as_on_gpu->found) return judged(bench, bench.found);
       Judgement passed{
           .warnings = bench.as_on_gpu->warnings,
           .runs = {.precision = bench.as_on_gpu->precision, .counts = bench.luck->mode}};
       passed.warnings.push_back(bench.luck->finding);
       return passed;
     }},
    {"a race that makes the course's cases wrong takes them; another one is a warning", nullptr,
     [](const Bench& bench) -> Ruled {
       if (bench.on_gpu() || bench.found || !bench.race) return std::nullopt;
       if (bench.unobserved) {
         return taking_all(judged(bench, cause_of(*bench.unobserved, *bench.race)));
       }
       Judgement passed = judged(bench, std::nullopt);
       passed.warnings.push_back(bench.race->finding);
       return passed;
     }},
    {"what was measured in one order of threads says less than a race that counts anyway", nullptr,
     [](const Bench& bench) -> Ruled {
       if (bench.on_gpu()) return std::nullopt;
       const bool is_cause =
           bench.found && bench.race && (bench.race->stores_twice || !bench.demands.forgives);
       return judged(bench, is_cause ? cause_of(*bench.found, *bench.race) : bench.found);
     }},
    {"memory that stays allocated is no cause of a wrong output", nullptr,
     [](const Bench& bench) -> Ruled {
       if (!bench.found || !is(bench.emulated, "no-cause")) return std::nullopt;
       return judged(bench, bench.found);
     }},
    {"what the emulation says of a GPU's fault knows lines and threads", nullptr,
     [](const Bench& bench) -> Ruled {
       if (!bench.found) return std::nullopt;
       Finding emulated = *bench.emulated;
       if (emulated.id != bench.found->id && !is(emulated, "compiler")) {
         emulated.seen +=
             "\nSeen on the emulated device; the GPU reported " + bench.found->id + ".";
       }
       return judged(bench, emulated);
     }},
    {"only a right output ends an emulated run well, although this GPU forgives the fault", nullptr,
     [](const Bench& bench) -> Ruled {
       Judgement verdict = judged(bench, std::nullopt);
       if (!bench.demands.forgives) {
         verdict.finding = bench.emulated;
         return with_observed(bench, verdict);
       }
       verdict.warnings.push_back(*bench.emulated);
       return verdict;
     }}};

}  // namespace

Finding cause_of(const Finding& found, const Race& race) {
  // One number that threads share may decide which of them come to the barrier.
  const bool decides = is_of_kind(found, "one-number") && race.is_one_number;
  if (is_of_kind(found, "before-race") && !decides) return found;
  // A wrong index that gives exactly these numbers may also hit what other threads write.
  if (found.is_proved && race.is_in_device_memory) return found;
  if (race.stores_twice && !race.is_one_number && !is_of_kind(found, "guessed")) return found;
  Finding told = race.finding;
  if (!is_of_kind(found, "race")) {
    told.seen += "\nThe check saw: " + found.seen.first_sentence();
  }
  return told;
}

std::optional<NextRun> plan(const Evidence& evidence, const Demands& demands) {
  const Bench bench = bench_of(evidence, demands);
  for (const Ruling& row : kRulings) {
    if (row.needs != nullptr) {
      if (auto next = row.needs(bench)) return next;
    }
    Ruled ruled = row.rule == nullptr ? std::nullopt : row.rule(bench);
    if (!ruled) continue;
    refuse_warnings(demands, *ruled);
    const auto once = [&](Experiment experiment, Mode mode) -> std::optional<NextRun> {
      if (evidence.find(experiment, mode) != nullptr) return std::nullopt;
      NextRun next = once_more(bench, experiment, mode);
      next.about = ruled->finding;
      return next;
    };
    if (!ruled->finding) {
      if (!demands.has_task_rules) return std::nullopt;
      if (auto next = once(Experiment::kTaskRules, Mode::kPlain)) return next;
      ruled->finding = evidence.find(Experiment::kTaskRules, Mode::kPlain)->finding;
      if (!ruled->finding) return std::nullopt;
    }
    std::optional<NextRun> next;
    if (evidence.can_emulate && ruled->finding->product) {
      next = once(Experiment::kLines, Mode::kObserved);
    }
    return next ? next : once(Experiment::kSource, Mode::kPlain);
  }
  return std::nullopt;
}

Judgement judge(const Evidence& evidence, const Demands& demands) {
  const Bench bench = bench_of(evidence, demands);
  for (const Ruling& row : kRulings) {
    if (row.needs != nullptr) {
      if (const auto next = row.needs(bench)) {
        return {.finding = no_answer(next->experiment, next->mode), .runs = {.takes_all = true}};
      }
    }
    Ruled ruled = row.rule == nullptr ? std::nullopt : row.rule(bench);
    if (!ruled) continue;
    refuse_warnings(demands, *ruled);
    if (!ruled->finding && demands.has_task_rules) {
      const Record* const rules = evidence.find(Experiment::kTaskRules, Mode::kPlain);
      ruled->finding =
          rules == nullptr ? no_answer(Experiment::kTaskRules, Mode::kPlain) : rules->finding;
      ruled->runs.takes_network = ruled->finding.has_value();
      if (rules != nullptr && rules->remark) ruled->warnings.push_back(*rules->remark);
    }
    if (const Record* lines = evidence.find(Experiment::kLines, Mode::kObserved);
        lines != nullptr && ruled->finding) {
      ruled->finding->seen += lines->lines;
    }
    if (const Record* source = evidence.find(Experiment::kSource, Mode::kPlain);
        source != nullptr && ruled->finding) {
      // A variable without a start value explains any wrong number.
      ruled->finding = with_warnings(*ruled->finding, source->warnings);
      ruled->finding->seen += source->lines;
    }
    return *ruled;
  }
  return {.finding = no_answer(Experiment::kCases, Mode::kPlain),
          .runs = {.takes_all = true}};  // never
}

}  // namespace convlab::grader
