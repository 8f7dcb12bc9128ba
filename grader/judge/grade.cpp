#include "grader/judge/grade.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <utility>

#include "common/base/buffer.hpp"
#include "common/base/error.hpp"
#include "common/base/in_threads.hpp"
#include "common/base/printable.hpp"
#include "common/base/unknown_name.hpp"
#include "common/result/result.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/network_check.hpp"
#include "grader/judge/check_stage.hpp"
#include "grader/judge/course_rules.hpp"
#include "grader/judge/experiments.hpp"
#include "grader/judge/judge.hpp"
#include "grader/measure/counters.hpp"
#include "grader/measure/measure_speed.hpp"
#include "grader/measure/quiet_gpu.hpp"
#include "grader/scores/edition_points.hpp"
#include "grader/scores/points.hpp"
#include "grader/submission/submission.hpp"

namespace convlab::grader {

namespace {

std::vector<StageInfo> chosen(const std::vector<StageInfo>& stages, const GradeRequest& request) {
  if (!request.stage) return stages;
  std::vector<std::string> known;
  for (const StageInfo& stage : stages) {
    if (stage.id == *request.stage) return {stage};
    known.push_back(stage.id);
  }
  throw UsageError(unknown_name("stage", *request.stage, known, " in " + request.milestone));
}

// Whether one of its stages is one of the milestone, and does not lack its technique.
bool gives_points(const ScoreRules& rules, const CheckResult& check) {
  const auto lacks_technique = [&](const std::string& stage) {
    return check.score && std::ranges::any_of(check.score->items, [&](const ScoreItem& item) {
             return item.stage == stage && item.lacks_technique;
           });
  };
  return std::ranges::any_of(check.evidence, [&](const Evidence& each) {
    return std::ranges::count(rules.items, each.stage, &ScoreRule::stage) > 0 &&
           !lacks_technique(each.stage);
  });
}

constexpr std::size_t kMostStages = 64;

// The counters of a convolution of the network; those of limits that a drawn one does not keep, and
// parts, are the drawn one's.
std::map<std::string, double> with_missed(const std::vector<CounterLimit>& limits,
                                          std::map<std::string, double> values,
                                          const std::map<std::string, double>& drawn) {
  constexpr double kRoom = 1.25;  // for the edges of another image
  for (CounterLimit limit : limits) {
    const auto known = drawn.find(limit.counter);
    const double value = known == drawn.end() ? NAN : known->second;
    const bool is_part = find_counter(limit.counter)->is_part;
    if (!is_part) limit.at_least /= kRoom, limit.at_most *= kRoom;
    if (is_part || !limit.is_kept_by(value)) values[limit.counter] = value;
  }
  return values;
}

class Grading {
 public:
  Grading(const GradeRequest& request, const GradeObserver& observer)
      : request_(request),
        observer_(observer),
        submission_(request.work.program, request.time_limit) {
    check_.result = {.program = "grader check",
                     .milestone = request.milestone,
                     .solution = request.solution,
                     .created = utc_now(),
                     .machine = describe_machine(),
                     .verdict = Verdict::kFailed};
    submission_.set_sources(SourceText(request.work.sources));
  }

  CheckResult run() {
    const std::vector<StageInfo> stages = list_stages();
    // Emulating 10 000 images takes a quarter of an hour; to get it, name the batch.
    constexpr int kMostEmulated = 1000;
    std::vector<int> batches = request_.batches;
    if (batches.empty()) {
      batches = request_.rules.batches();
      if (batches.empty()) batches = {100, 1000, 10'000};
      std::erase_if(batches, [&](int batch) { return is_emulated() && batch > kMostEmulated; });
      if (batches.empty()) batches = {100};
    }
    const int largest = *std::max_element(batches.begin(), batches.end());
    GradedNetwork network{request_.network, largest};
    const bool takes_times = request_.score && request_.score->measures_speed && !stages.empty();
    if (takes_times && submission_.device().device == Device::kGpu) look_at_gpu();
    if (!stages.empty()) {
      const std::uint64_t seed = request_.seed.value_or(std::random_device{}());
      const Rules rules = rules_of(request_);
      if (rules == Rules::kCourse) {
        check_.rules = request_.rules.edition ? request_.rules.edition->name : to_string(rules);
      }
      for (const StageInfo& stage : stages) {
        cases_of_[stage.id] = plan_for(request_, stage, batches).cases.size();
      }
      bool good = true;
      if (request_.checked) {
        check_.cases = request_.checked->cases;
        check_.findings = request_.checked->findings;
        check_.warnings = request_.checked->warnings;
        check_.evidence = request_.checked->evidence;
        check_.result.runs = request_.checked->result.runs;
        // The program may list other stages now.
        std::erase_if(check_.result.runs, [&](const RunResult& run) {
          return std::ranges::find(stages, run.stage.id, &StageInfo::id) == stages.end();
        });
        good = check_.findings.empty();
        network.load(observer_.announce);
      } else {
        good = check_all(stages, batches, seed, network);
        const auto& runs = check_.result.runs;
        std::erase_if(batches, [&](int batch) {
          return machine_.was_stopped &&
                 std::ranges::find(runs, batch, &RunResult::batch) == runs.end();
        });
      }
      add_device(check_.result, submission_.device().measured);
      if (good) check_.result.verdict = Verdict::kPassed;
    }
    if (request_.competition) check_.ranked = ranked_run(stages, largest);
    if (request_.score) {
      score(*request_.score, stages, batches, network);
      if (!gives_points(request_.score->rules, check_)) check_.result.verdict = Verdict::kFailed;
    }
    if (request_.rules.task && request_.rules.task->points > 0.0) {
      check_.edition = edition_score(request_.rules, check_, submission_.sources());
    }
    return std::move(check_);
  }

 private:
  [[nodiscard]] bool is_emulated() const {
    return request_.work.device.value_or(submission_.device().device) == Device::kEmulated;
  }

  // Starts the program and reads its stages and its device; none if there is nothing to check.
  std::vector<StageInfo> list_stages() {
    std::vector<StageInfo> stages;
    if (!starts(context_, request_.work.unbuilt)) {
      if (request_.score)
        submission_.list_stages(stages);  // the last built program knows the device
      return {};
    }
    const std::optional<Failure> failure = submission_.list_stages(stages);
    check_.isolation = describe(submission_.isolation());
    if (failure) {
      starts(context_, explain(*failure, "the list of stages"));
      return {};
    }
    // A custom submission's own word is no proof; target_for has asked the workbook's program.
    if (!request_.work.device) refuse_silent_emulation(submission_.device());
    if (!starts(context_, refused(stages))) return {};
    return chosen(stages, request_);
  }

  // Why a list of stages cannot be checked.
  std::optional<Finding> refused(const std::vector<StageInfo>& stages) {
    if (stages.empty()) {
      const bool needs_gpu =
          submission_.device().device == Device::kEmulated &&
          !SourceText(request_.work.sources).lines_with({"StageLeftOut"}).empty();
      return finding(needs_gpu ? "E-no-stage/gpu" : "E-no-stage", "The program lists no stage.");
    }
    std::set<std::string> seen;
    for (const StageInfo& stage : stages) {
      if (!is_id(stage.id)) {
        return finding("E-no-stage/id", "A stage is called '" + short_line(stage.id, 40) + "'.");
      }
      if (!seen.insert(stage.id).second) {
        return finding("E-same-stage", "Two stages are called '" + stage.id + "'.");
      }
    }
    if (stages.size() <= kMostStages) return std::nullopt;
    return finding("E-same-stage", "The program lists " + std::to_string(stages.size()) +
                                       " stages; at most " + std::to_string(kMostStages) +
                                       " are checked.");
  }

  // On an emulated device as many stages are checked at the same time as there are processors
  // (OMP_NUM_THREADS). On a GPU it is twice the number of networks, and one at a time takes times.
  // A network needs memory for its batch: the arrays in both processes on the host, and what a
  // stage unrolls on its device.
  bool check_all(const std::vector<StageInfo>& stages, const std::vector<int>& batches,
                 std::uint64_t seed, GradedNetwork& network) {
    constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
    constexpr int kLeast = 500;
    constexpr std::int64_t kMostOnGpu = 8;
    const Device device = submission_.device().device;
    const std::int64_t images = std::max(kLeast, *std::max_element(batches.begin(), batches.end()));
    const bool on_gpu = device == Device::kGpu;
    // An emulated device unrolls in memory of the host.
    std::int64_t networks = available_memory() / ((on_gpu ? 1 : 2) * kMebibyte * images);
    std::int64_t threads = std::min(std::ssize(stages), std::int64_t{omp_get_max_threads()});
    if (on_gpu) {
      const std::int64_t memory = submission_.device().measured.info.memory_bytes;
      networks = std::min({networks, memory / (3 * kMebibyte / 2 * images), kMostOnGpu});
      // The others run their small cases meanwhile.
      threads = std::min(threads, 2 * networks);
    } else {
      threads = device == Device::kCpu ? 1 : std::min(threads, networks);
    }
    networks = std::clamp<std::int64_t>(networks, 1, std::max<std::int64_t>(1, threads));
    machine_.networks.places.release(networks);
    machine_.is_shared = threads > 1;
    if (machine_.is_shared)
      return check_together(stages, batches, seed, network, threads, networks);
    bool good = true;
    for (const StageInfo& stage : stages) {
      good &= check_stage(context_, stage, batches, seed, network);
    }
    return good;
  }

  bool check_together(const std::vector<StageInfo>& stages, const std::vector<int>& batches,
                      std::uint64_t seed, GradedNetwork& network, std::int64_t threads,
                      std::int64_t networks) {
    submission_.restart();  // it takes no memory meanwhile
    std::mutex telling;
    // What a stage reports waits until those before it have ended. Progress does not wait.
    std::vector<std::vector<std::pair<StageInfo, StageReport>>> reports(stages.size());
    std::vector<bool> ended(stages.size());
    std::size_t next = 0;
    std::vector<CheckResult> results(stages.size());
    const int share = std::max(1, omp_get_max_threads() / static_cast<int>(networks));
    in_threads(stages.size(), static_cast<std::size_t>(threads), [&](std::size_t i) {
      omp_set_num_threads(share);  // for this thread alone: the other processors have other work
      const GradeObserver observer{
          .announce =
              [&](const std::string& what) {
                const std::lock_guard lock(telling);
                observer_.announce(what);
              },
          .tell = [&](const StageInfo& stage,
                      const StageReport& report) { reports[i].emplace_back(stage, report); }};
      Submission submission(request_.work.program, request_.time_limit);
      submission.set_sources(submission_.sources());
      submission.set_device(submission_.device());
      results[i].result.verdict = Verdict::kPassed;
      check_stage({request_, observer, submission, results[i], machine_}, stages[i], batches, seed,
                  network);
      const std::lock_guard lock(telling);
      ended[i] = true;
      for (; next < ended.size() && ended[next]; ++next) {
        for (const auto& [stage, report] : reports[next]) observer_.tell(stage, report);
      }
    });
    bool good = true;
    for (CheckResult& each : results) {
      good &= each.result.verdict == Verdict::kPassed;
      std::ranges::move(each.cases, std::back_inserter(check_.cases));
      std::ranges::move(each.result.runs, std::back_inserter(check_.result.runs));
      std::ranges::move(each.findings, std::back_inserter(check_.findings));
      std::ranges::move(each.warnings, std::back_inserter(check_.warnings));
      std::ranges::move(each.evidence, std::back_inserter(check_.evidence));
    }
    return good;
  }

  void score(const ScoreRequest& wanted, const std::vector<StageInfo>& stages,
             const std::vector<int>& batches, const GradedNetwork& network) {
    ScoreBasis basis{.only_stage = request_.stage,
                     .batches = batches,
                     .network = request_.network,
                     .emulated = is_emulated(),
                     .cases_in_all = element_cases().size(),
                     .cases_of = cases_of_,
                     .puzzles = wanted.puzzles,
                     .predicted = wanted.predicted};
    std::vector<Measured> counted;
    if (request_.checked && request_.checked->basis) {
      const ScoreBasis& before = *request_.checked->basis;
      basis.puzzles = before.puzzles;
      basis.predicted = before.predicted;
      std::ranges::copy_if(before.measured, std::back_inserter(basis.measured),
                           [](const Measured& each) { return each.batch == 0; });
    } else {
      for (const std::string& stage : stages_to_count(wanted.rules, check_))
        counted.push_back({.stage = stage});
    }
    Submission reference(wanted.reference);
    for (const ScoreRule& rule : wanted.rules.items) {
      const bool is_timed =
          rule.what == ScoreRule::What::kSpeed && can_measure(rule, wanted.rules, check_, basis);
      if (!is_timed) continue;
      const auto stage = std::ranges::find(stages, rule.stage, &StageInfo::id);
      basis.measured.push_back(measure(wanted, rule, as_judged(*stage), network, reference));
      const auto& found = basis.measured.back().finding;
      if (found) judge_speed(*stage, *found);
    }
    if (!counted.empty()) observer_.announce("counting requests, emulated");
    in_threads(counted.size(), static_cast<std::size_t>(omp_get_max_threads()),
               [&](std::size_t i) { count(wanted.rules, counted[i]); });
    std::ranges::move(counted, std::back_inserter(basis.measured));
    for (const Evidence& each : check_.evidence)
      basis.counted[each.stage] = judge(each, each.demands).runs;
    check_.score = make_score(wanted.rules, check_, basis);
    check_.basis = std::move(basis);
  }

  // What shows only while times are taken.
  void judge_speed(const StageInfo& stage, const Finding& finding) {
    const auto own = std::ranges::find(check_.evidence, stage.id, &Evidence::stage);
    if (own == check_.evidence.end()) {
      passes(context_, stage, finding);
      return;
    }
    own->records.push_back(
        {.experiment = Experiment::kSpeed, .end = RunEnd::kWrong, .finding = finding});
    own->records.push_back(source_record(context_, finding));
    passes(context_, stage, judge(*own, own->demands).finding);
  }

  // Of the first stage, if it was right.
  RankedTimes ranked_run(const std::vector<StageInfo>& stages, int batch) {
    const auto& edition = request_.rules.edition;
    const RankedRun plan =
        edition && edition->competition ? edition->competition->run : RankedRun{};
    RankedTimes times{.batch = batch,
                      .how = std::to_string(plan.calls) + " calls on the same buffers after " +
                             std::to_string(plan.warm_ups) + ", by the host's clock"};
    times.why_not = why_not_ranked(check_.result, submission_.device().device);
    if (!times.why_not.empty()) return times;
    observer_.announce("the ranked run");
    for (const ConvShape& shape : load_preset(request_.network).conv_shapes(batch)) {
      const Arrays arrays = submission_.prepare(shape, Placement::kAligned);
      fill_random({.shape = shape}, std::random_device{}(), arrays);
      const Call call = submission_.run_ranked(stages.front().id, plan);
      if (call.failure) {
        times.why_not = explain(*call.failure, "the ranked run").seen.text();
        return times;
      }
      const Precision precision = as_judged(stages.front()).precision;
      if (!oracle::compare(shape, arrays.input, arrays.weights, arrays.output,
                           oracle::Tolerance::of(precision, shape))
               .passed(shape)) {
        times.why_not = "its output is wrong after several calls on the same buffers.";
        return times;
      }
      times.op_ms.push_back(call.op_ms);
    }
    return times;
  }

  // With the precision class of the check, which the grader may have found.
  [[nodiscard]] StageInfo as_judged(StageInfo stage) const {
    for (const RunResult& run : check_.result.runs) {
      if (run.stage.id == stage.id) stage.precision = run.stage.precision;
    }
    return stage;
  }

  // In the last convolution of the network that counts, on an emulated device.
  void count(const ScoreRules& rules, Measured& outcome) {
    const auto leave_out = [&](const char* why) { outcome.why_not = why; };
    if (!request_.work.build_emulated) return leave_out(kCountedInSources);
    const EmulatedProgram built = request_.work.build_emulated(true);
    if (built.refused) return leave_out("it cannot be emulated");
    Submission counting(built.program, request_.time_limit);
    counting.set_sources(SourceText(request_.work.sources));
    std::vector<StageInfo> stages;
    StageCounts counts;
    const bool listed = !counting.list_stages(stages);
    const auto own = std::ranges::find(stages, outcome.stage, &StageInfo::id);
    if (!listed || own == stages.end()) return leave_out("the emulated device gave no counts");
    const StageInfo stage = as_judged(*own);
    const ConvShape layer = load_preset(rules.network).conv_shapes(1).back();
    outcome.finding = count_accesses(counting, stage, layer, counts);
    // A wrong output, too, may be made with the stage's technique.
    if (counts.counted.accesses.empty()) return;
    constexpr int kImages = 32;  // a stage may divide them
    ConvShape first = load_preset(rules.network).conv_shapes(kImages).front();
    const auto rule = std::ranges::find_if(rules.items, [&](const ScoreRule& each) {
      return each.stage == outcome.stage && each.what == ScoreRule::What::kTechnique;
    });
    const auto limits = rule == rules.items.end() ? std::vector<CounterLimit>() : rule->limits;
    const std::vector<std::string> parts = parts_asked(limits);
    StageCounts drawn = counts;
    // What only has to be right for the network's shapes, or is about them, is shown there.
    const bool on_network = rule != rules.items.end() && rule->on_network;
    if (rules_of(request_) == Rules::kWorkbook && !supports_one_network(request_, stage) &&
        !on_network) {
      first = drawn_like(first);
      static_cast<void>(count_accesses(counting, stage, drawn_like(layer), drawn));
    }
    count_parts(counting, stage, first, parts, drawn);
    outcome.counters = with_missed(limits, values_of(counts), values_of(drawn));
  }

  Measured measure(const ScoreRequest& wanted, const ScoreRule& rule, const StageInfo& stage,
                   const GradedNetwork& network, Submission& reference) {
    Measured outcome{.stage = rule.stage, .batch = rule.batch};
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
                               .program = reference,
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
  std::map<std::string, std::size_t> cases_of_;  ///< planned, by stage
  Machine machine_;
  CheckContext context_{request_, observer_, submission_, check_, machine_};
};

}  // namespace

CheckResult grade(const GradeRequest& request, const GradeObserver& observer) {
  return Grading(request, observer).run();
}

std::optional<CheckResult> grade_again(CheckResult kept, const ScoreRules& rules) {
  if (!kept.basis || kept.edition || kept.evidence.empty()) return std::nullopt;
  const std::vector<Finding> before = std::exchange(kept.findings, {});
  kept.warnings.clear();
  for (const Evidence& evidence : kept.evidence) {
    const bool has_started = evidence.find(Experiment::kStart, Mode::kPlain) == nullptr;
    if (has_started && plan(evidence, evidence.demands)) return std::nullopt;
    const Judgement verdict = judge(evidence, evidence.demands);
    if (kept.basis->counted[evidence.stage] != verdict.runs) return std::nullopt;
    const auto keep = [&](Finding found, std::vector<Finding>& findings) {
      found.stage = evidence.stage;
      findings.push_back(std::move(found));
    };
    for (const Finding& warning : verdict.warnings) keep(warning, kept.warnings);
    if (!verdict.finding) continue;
    keep(*verdict.finding, kept.findings);
    const auto old = std::ranges::find(before, evidence.stage, &Finding::stage);
    if (old != before.end() && old->id == verdict.finding->id)
      kept.findings.back().mends = old->mends;
  }
  if (!has_all_measures(rules, kept, *kept.basis)) return std::nullopt;
  kept.score = make_score(rules, kept, *kept.basis);
  const bool passed = kept.findings.empty() && gives_points(rules, kept);
  kept.result.verdict = passed ? Verdict::kPassed : Verdict::kFailed;
  return kept;
}

}  // namespace convlab::grader
