#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "grader/checks/device_analysis.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/probe/probe.hpp"
#include "grader/checks/probe/terms.hpp"

namespace convlab::grader {

// @param weights  the grader's own; null: those of the submission
static bool is_right(const WrongOutput& wrong, const float* weights = nullptr) {
  return oracle::compare(wrong.shape, wrong.arrays.input,
                         weights == nullptr ? wrong.arrays.weights : weights, wrong.arrays.output,
                         wrong.tolerance)
      .passed(wrong.shape);
}

std::optional<Finding> find_late_output(Submission& submission, const WrongOutput& wrong,
                                        const float* weights, const std::string& where) {
  submission.thaw();
  constexpr std::chrono::milliseconds kLate{300};
  constexpr int kMostLooks = 20;  // while a thread computes, which takes long on a busy machine
  int look = 0;
  do {
    std::this_thread::sleep_for(kLate);
  } while (++look < kMostLooks && submission.threads().is_busy());
  if (!is_right(wrong, weights)) return std::nullopt;
  return finding("E-still-working/late", "In " + where);
}

std::optional<Finding> find_who_computes(Submission& submission, const std::string& stage,
                                         const std::string& where, const float* weights,
                                         WrongOutput& wrong, const Compare& compare) {
  if (wrong.report.passed(wrong.shape)) return std::nullopt;
  if (wrong.report.unwritten > 0) {
    if (auto late = find_late_output(submission, wrong, weights, where)) return late;
  }
  const Withheld before = submission.withheld();
  if (before == Withheld::kNothing) return std::nullopt;
  float* const output = wrong.arrays.output;
  const std::vector<float> first(output, output + wrong.shape.output_size());
  bool launches = false;
  const auto right_with = [&](Withheld withheld) {
    submission.set(&Submission::Settings::withheld, withheld);
    const Call call = submission.run(stage);
    launches = launches || !call.notes.launches.empty();
    return !call.failure && compare().passed(wrong.shape);
  };
  const auto go_back = [&] {
    submission.set(&Submission::Settings::withheld, before);
    std::copy(first.begin(), first.end(), output);
  };
  submission.set(&Submission::Settings::repeats_tokens, true);
  // A race may be right at times; by luck it is not so often right, and wrong, in turns.
  constexpr int kTimes = 5;
  bool by_tokens = true;
  for (int time = 0; by_tokens && time < kTimes; ++time) {
    by_tokens = right_with(Withheld::kNothing) && !right_with(before);
  }
  submission.set(&Submission::Settings::repeats_tokens, false);
  if (!by_tokens) {
    go_back();
    return std::nullopt;  // wrong all the same, or wrong only sometimes: this has another cause
  }
  // A number of the program may equal a token; then it does not equal one of the next draw.
  for (const Withheld which : {before, Withheld::kInput, Withheld::kWeights}) {
    if (!right_with(which)) continue;
    wrong.report = compare();
    return std::nullopt;
  }
  // Where a host may round both of them, what prolog left on the device shows who computes: an
  // output is made of many numbers, and a result of the host is only moved.
  if (launches && submission.settings().host_may_convert) {
    submission.set(&Submission::Settings::withheld, Withheld::kNothing);
    const Call phases = submission.run_phases(stage, [] {});
    if (!phases.failure && phases.kernels.computes_all() && right_with(Withheld::kNothing)) {
      wrong.report = compare();
      return std::nullopt;
    }
  }
  go_back();
  return finding(launches ? "E-no-kernel/host" : "E-no-kernel/none", "In " + where);
}

namespace {

/// Gives the submission the numbers of the case once more: meanwhile it computes other shapes.
using Refill = std::function<Arrays(Placement)>;

// What lies before an array is mapped memory, unless the array follows a guard page: of the host's
// arrays, and of those that the file allocates on the emulated device.
std::optional<Finding> find_before_begin(Submission& submission, const StageInfo& stage,
                                         const Refill& refill, const std::string& where) {
  const bool emulated = submission.device().device == Device::kEmulated;
  if (!emulated && submission.device().device != Device::kCpu) return std::nullopt;
  refill(Placement::kAtBegin);
  if (emulated) submission.set_environment({"CONVLAB_EMU_ARRAYS=begin"});
  const Call call = submission.run(stage.id);
  if (emulated) submission.set_environment({});
  refill(Placement::kAtEnd);
  if (!call.failure) return std::nullopt;
  Finding found = explain(*call.failure, where);
  return is_of_kind(found, "neighbours") ? std::optional(found) : std::nullopt;
}

// What was measured, behind what was seen; with the usual texts where it has none of its own. A
// cause that was measured stands alone.
Finding named(const probe::Explanation& fact, const Seen& seen) {
  Finding found = finding(static_cast<const Finding&>(fact), seen + "\n");
  found.is_proved = fact.predicts != nullptr;
  return found;
}

// A number of bytes may fit by chance, as M·K·K floats do where C = 4: another shape must agree, of
// whose sizes no factor is 4. @param otherwise  what to say if it does not, of the same values
void confirm_bytes(Submission& submission, const StageInfo& stage, const char* otherwise,
                   Finding& found) {
  if (!is_of_kind(found, "bytes")) return;
  const ElementCase other{.name = "other sizes",
                          .shape = {2, 3, 5, 50, 51, 3, 1},
                          .exact = true,
                          .probe = ElementCase::Probe::kNone};
  const auto again = run_case(submission, stage, other, 1).finding;
  if (again && again->variant == found.variant) return;
  Finding seen = said(otherwise, found.values);
  seen.seen = found.seen;
  found = finding(seen, "");
}

// @return the first wrong output of the smallest case that fails, if it is known
std::optional<WrongProduct> add_shapes(Submission& submission, const StageInfo& stage,
                                       const ElementCase& test, Finding& finding) {
  if (!test.is_of_any_shape() || is_of_kind(finding, "any-shape")) return {};
  return probe::add_failing_shapes({submission, stage, test.shape}, finding);
}

// Right in a new process, so leftovers of an earlier call are the cause.
std::optional<Finding> find_kept_state(Submission& submission, const StageInfo& stage,
                                       const WrongOutput& wrong, const std::string& seen) {
  submission.restart();
  if (submission.run(stage.id).failure || !is_right(wrong)) return std::nullopt;
  return finding("E-replay/not-first", seen);
}

// Of a file that starts threads of its own: whether some calls are right and others wrong.
std::optional<Finding> find_chance(Submission& submission, const StageInfo& stage,
                                   const WrongOutput& wrong, const std::string& seen) {
  const auto threads = submission.sources().quotes({"thread"}, {"include"});
  if (submission.device().device != Device::kCpu || threads.empty()) return std::nullopt;
  constexpr int kCalls = 60;
  int wrong_calls = 0;
  for (int call = 0; call < kCalls; ++call) {
    // Nothing is left over from other numbers.
    if (call == 0 || call == kCalls / 2) submission.restart();
    if (submission.run(stage.id).failure || !is_right(wrong)) ++wrong_calls;
  }
  if (wrong_calls == 0 || wrong_calls == kCalls) return std::nullopt;
  Finding found = finding("E-race/threads", seen, {std::to_string(kCalls)});
  found.seen += threads;
  return found;
}

// A rule of the outputs that are never written, "h % 16 ≥ 8", beside the threads of a block.
void add_block(const probe::Rule& rule, const DeviceLaunch& launch, Finding& found) {
  for (const probe::Rule::Part& part : rule.parts) {
    const bool is_row = part.variable == 'h';
    if (part.tile == 0 || part.relation != probe::Rule::Relation::kAtLeast ||
        (!is_row && part.variable != 'w'))
      continue;
    if (launch.block[is_row ? 1 : 0] != part.value) continue;
    const Finding told =
        said("E-partly-written/block", {std::to_string(part.tile), is_row ? "rows" : "columns",
                                        std::to_string(part.value), is_row ? "y" : "x"});
    found.cause += " " + told.cause;
    found.next = told.next;
  }
}

std::string where_of(const ElementCase& test) {
  return "case '" + test.name + "' (" + to_string(test.shape) + ")";
}

// An emulated kernel may be so slow that a tenth of the images shows it. Whether these are right is
// not asked: a file may need as many images as the course runs.
std::optional<Finding> slow_in_part(Submission& submission, const StageInfo& stage,
                                    const ElementCase& test, std::uint64_t seed) {
  constexpr int kPart = 10;
  if (submission.device().device != Device::kEmulated || !test.exact ||
      test.shape.batch < 2 * kPart) {
    return std::nullopt;
  }
  ElementCase part = test;
  part.shape.batch /= kPart;
  fill_random(part, seed, submission.prepare(part.shape, Placement::kAtEnd));
  const auto before = submission.threads().computed;
  const Call call = submission.run(stage.id);
  const double used_s =
      std::chrono::duration<double>(submission.threads().computed - before).count();
  submission.restart();  // what it keeps of this shape must not matter
  if (call.failure) {
    const Finding found = explain(*call.failure, where_of(part));
    return is_of_kind(found, "time") ? std::optional(found) : std::nullopt;
  }
  submission.prepare(test.shape, Placement::kAtEnd);
  const double most_s = std::chrono::duration<double>(submission.time_limit()).count() *
                        std::thread::hardware_concurrency();
  if (kPart * used_s < most_s) return std::nullopt;
  return finding("E-slow/part", "In " + where_of(part),
                 {std::to_string(std::lround(used_s)), std::to_string(test.shape.batch),
                  std::to_string(std::lround(most_s))});
}

/// One run of a case, and what explains it where it is wrong.
class CaseRun {
 public:
  CaseRun(Submission& submission, const StageInfo& stage, const ElementCase& test,
          std::uint64_t seed)
      : submission_(submission), stage_(stage), test_(test), seed_(seed) {
    outcome_.result = {.stage = stage.id,
                       .name = test.name,
                       .shape = test.shape,
                       .seed = seed,
                       .exact = test.exact,
                       .error = {.bound = tolerance_.bound},
                       .verdict = Verdict::kFailed};
  }

  CaseOutcome run() {
    if ((outcome_.finding = slow_in_part(submission_, stage_, test_, seed_))) return outcome_;
    refill_(Placement::kAtEnd);
    outcome_.call = submission_.run(stage_.id);
    if (outcome_.call.failure) {
      explain_failure();
      return outcome_;
    }
    WrongOutput compared = compare_output();
    if (test_.probe == ElementCase::Probe::kKnown && !compared.report.passed(test_.shape)) {
      outcome_.finding = diagnose(compared, where_);
      return outcome_;
    }
    outcome_.finding =
        find_who_computes(submission_, stage_.id, where_, arrays_.weights, compared, compare_);
    if (outcome_.finding) return outcome_;
    outcome_.result.error = {.compared = compared.report.compared,
                             .wrong = compared.report.wrong,
                             .worst_ratio = compared.report.worst_ratio,
                             .bound = tolerance_.bound};
    if (!compared.report.passed(test_.shape)) {
      explain_wrong(compared);
    } else if (outcome_.call.wrote_outside) {
      // A guard page names the line.
      const auto outside = find_before_begin(submission_, stage_, refill_, where_);
      outcome_.finding =
          finding("E-writes-outside", outside ? outside->seen : "In " + where_ + ".");
    } else {
      outcome_.result.verdict = Verdict::kPassed;
    }
    return outcome_;
  }

 private:
  void explain_failure() {
    const Failure& failure = *outcome_.call.failure;
    Finding& found = outcome_.finding.emplace(explain(failure, where_));
    const bool is_late = is_of_kind(found, "time");
    if (test_.is_probed()) {
      confirm_bytes(submission_, stage_, "E-outside/fewer-bytes", found);
      refill_(Placement::kAtEnd);
    }
    if (test_.is_probed() && failure.fault && !is_late) {
      submission_.restart();
      const bool fails_again = submission_.run(stage_.id).failure.has_value();
      if (!fails_again && submission_.ends_alone()) {  // what a call keeps needs a second one
        const Finding left = said("E-still-working/fails");
        found.seen += "\n" + left.seen;
        found.cause = left.cause, found.next = left.next;
        return;
      }
      if (const auto kept = fails_again ? std::nullopt : probe::kept_state(probed_)) {
        found = named(*kept, found.seen);
        return;
      }
    }
    if (is_late && test_.is_probed()) tell_width(found);
    if (is_of_kind(found, "neighbours") && test_.is_probed() && !test_.one_row) {
      const auto fact = probe::measure_index(probed_);
      const bool is_open = found.variant.empty();
      if (fact && (is_open || !is_of_kind(*fact, "neighbours"))) {
        found = named(*fact, found.seen);
      } else if (fact) {
        found.seen += "\n" + fact->seen;
        if (found.cause.empty()) found.cause = fact->cause;
      }
    }
    if (failure.fault && !is_late) add_shapes(submission_, stage_, test_, found);
  }

  // A counter of one byte never reaches the end of a wide image.
  void tell_width(Finding& found) {
    constexpr int kByte = 256;
    constexpr int kFew = 100;
    if (test_.shape.width <= kByte) return;
    ElementCase narrow = test_;
    narrow.shape.width = kFew;
    narrow.probe = ElementCase::Probe::kNone;
    submission_.restart();
    if (run_case(submission_, stage_, narrow, seed_).finding) return;
    found = finding("E-timeout/wide", found.seen,
                    {std::to_string(kFew), std::to_string(test_.shape.width)});
    for (const char* type : {"char", "uint8_t", "int8_t"}) {
      found.seen += submission_.sources().quotes({"for", type});
    }
  }

  // With the tolerance of a transform, if it is one.
  WrongOutput compare_output() {
    WrongOutput compared{test_.shape, arrays_, tolerance_, compare_(), test_.exact};
    if (compared.report.passed(test_.shape) || compared.report.not_finite > 0) return compared;
    const oracle::Tolerance usual = tolerance_;
    // A transform rounds whole numbers, too.
    if (test_.exact) tolerance_ = oracle::Tolerance::of(Precision::kFp32, test_.shape);
    tolerance_ = tolerance_.of_transform(test_.shape, arrays_.input, arrays_.weights);
    if (!compare_().passed(test_.shape)) {
      tolerance_ = usual;
      return compared;
    }
    if (!probe::is_transform(probed_)) tolerance_ = usual;
    refill_(Placement::kAtEnd);  // the measurement had other numbers
    submission_.run(stage_.id);
    outcome_.result.error.bound = tolerance_.bound;
    return {test_.shape, arrays_, tolerance_, compare_(), test_.exact};
  }

  void explain_wrong(WrongOutput& compared) {
    const Call& call = outcome_.call;
    if (!test_.is_probed()) {
      const Finding general = diagnose(compared, where_);
      auto found = explain_on_device(submission_, stage_, compared, call, where_);
      if (!found) found = find_before_begin(submission_, stage_, refill_, where_);
      outcome_.finding = found.value_or(general);
      return;
    }
    Finding& found = outcome_.finding.emplace(name_mistake(compared));
    const auto smallest = add_shapes(submission_, stage_, test_, found);
    if (!is_of_kind(found, "of-outputs") || found.product) return;
    // A traced program is watched where there is least to see.
    const oracle::Mismatch& first = *compared.report.first;
    found.product = smallest.value_or(WrongProduct{
        .shape = test_.shape,
        .output =
            probe::output_index(test_.shape, {first.image, first.map, first.row, first.column})});
  }

  // First the device's records, which may know a line, then what the probe measures.
  Finding name_mistake(WrongOutput& wrong) {
    const Finding general = diagnose(wrong, where_);
    const std::string seen = "In " + where_ + ": " + describe(wrong.shape, wrong.report);
    const bool is_infinite =
        std::any_of(wrong.arrays.output, wrong.arrays.output + wrong.shape.output_size(),
                    [](float each) { return std::isinf(each); });
    if (auto found = measured(wrong, find_chance(submission_, stage_, wrong, seen))) return *found;
    // Random content would look like an output that was added to; zeros show the difference.
    const bool adds = wrong.report.not_finite > 0 &&
                      measured(wrong, !submission_.run(stage_.id, 0).failure && is_right(wrong));
    // Old content of which a part has changed tells nothing of what is written.
    if (adds && wrong.report.not_finite > wrong.report.unwritten) {
      return finding("E-uninitialised", seen);
    }
    if (const auto state = measured(wrong, find_kept_state(submission_, stage_, wrong, seen))) {
      const auto fact = probe::kept_state(probed_);
      return fact ? named(*fact, state->seen) : *state;
    }
    if (auto found = find_rounding(wrong, is_infinite)) return *found;
    if (auto found = find_on_device(wrong)) return *found;
    if (auto found = find_before_begin(submission_, stage_, refill_, where_)) return *found;
    const auto fact = measured(wrong, probe::measure_mistake(probed_, test_.one_row));
    if (adds) return added(wrong, fact);
    Finding found = fact ? named(*fact, seen) : general;
    if (is_of_kind(found, "copied-back")) {
      found.seen += submission_.sources().quotes({"cudaMemcpyDeviceToHost"});
    }
    return found;
  }

  // The measurement had other numbers.
  template <class Result>
  Result measured(WrongOutput& wrong, Result result) {
    wrong.arrays = refill_(Placement::kAtEnd);
    return result;
  }

  // Whole numbers come out exactly whatever is rounded, and were right in the cases before. All
  // other errors are a matter of rounding if they are small.
  std::optional<Finding> find_rounding(WrongOutput& wrong, bool is_infinite) {
    const bool is_nearly = is_nearly_right(wrong);
    if (!is_nearly && !is_infinite && (wrong.is_whole || wrong.report.not_finite > 0)) return {};
    const auto rounding = measured(wrong, probe::rounding_of(probed_, is_infinite));
    if (!rounding || (!is_nearly && !rounding->is_named)) return std::nullopt;
    return with_rounding(lost_precision(wrong, where_), *rounding);
  }

  std::optional<Finding> find_on_device(WrongOutput& wrong) {
    const Call& call = outcome_.call;
    auto found = measured(wrong, explain_on_device(submission_, stage_, wrong, call, where_));
    if (!found) return found;
    confirm_bytes(submission_, stage_, "E-copy/part", *found);
    if (!is_of_kind(*found, "of-stores")) return found;
    const auto fact = measured(wrong, probe::measure_mistake(probed_, false, true));
    if (!fact || fact->cause.empty()) return found;
    // What the device noted stands beside what was measured.
    Finding both = named(*fact, found->seen);
    if (fact->id == found->id) both.cause = fact->cause + " " + found->cause;
    if (!call.notes.launches.empty()) add_block(fact->rule, call.notes.launches.back(), both);
    return both;
  }

  // NaN plus a number is that NaN, so what is added to looks as if nothing were written.
  [[nodiscard]] Finding added(WrongOutput sums,
                              const std::optional<probe::Explanation>& fact) const {
    sums.report.unwritten = 0;
    Finding told =
        finding("E-uninitialised/added", "In " + where_ + ": " + describe(sums.shape, sums.report));
    const SourceText& sources = submission_.sources();
    const Seen adds = sources.quotes({"] +="}) + sources.quotes({"]+="});
    if (!adds.empty()) told.seen += "\nHere a sum is added to an element of an array:" + adds;
    // The outputs that look unwritten, where a rule of the sizes says which.
    if (!fact || !is_of_kind(*fact, "unwritten")) return told;
    told.seen += "\n" + said("E-uninitialised/added-where", fact->values).seen;
    return told;
  }

  Submission& submission_;
  const StageInfo& stage_;
  const ElementCase& test_;
  std::uint64_t seed_;
  const std::string where_ = where_of(test_);
  const probe::WrongStage probed_{submission_, stage_, test_.shape, test_.is_of_any_shape()};
  oracle::Tolerance tolerance_ = test_.exact ? oracle::Tolerance::exact()
                                             : oracle::Tolerance::of(stage_.precision, test_.shape);
  Arrays arrays_{};
  CaseOutcome outcome_{};
  const Refill refill_ = [this](Placement placement) {
    arrays_ = submission_.prepare(test_.shape, placement);
    fill_random(test_, seed_, arrays_);
    return arrays_;
  };
  const Compare compare_ = [this] {
    return oracle::compare(test_.shape, arrays_.input, arrays_.weights, arrays_.output, tolerance_);
  };
};

}  // namespace

CaseOutcome run_case(Submission& submission, const StageInfo& stage, const ElementCase& test,
                     std::uint64_t seed) {
  return CaseRun(submission, stage, test, seed).run();
}

std::optional<Finding> first_finding(Submission& submission, const StageInfo& stage,
                                     const std::vector<ElementCase>& cases, std::uint64_t seed,
                                     std::vector<std::string>* wrong_cases) {
  for (const ElementCase& test : cases) {
    auto found = run_case(submission, stage, test, ++seed).finding;
    if (!found) continue;
    if (wrong_cases != nullptr) wrong_cases->push_back(test.name);
    return found;
  }
  return std::nullopt;
}

}  // namespace convlab::grader
