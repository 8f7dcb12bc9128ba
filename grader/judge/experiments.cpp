#include "grader/judge/experiments.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "grader/checks/behaviour_check.hpp"
#include "grader/checks/device_analysis.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/checks/probe/probe.hpp"
#include "grader/checks/source_clues.hpp"
#include "grader/judge/course_rules.hpp"
#include "grader/judge/observe.hpp"
#include "grader/measure/network_times.hpp"
#include "grader/measure/stage_steps.hpp"

namespace convlab::grader {

namespace {

using Settings = std::vector<std::string>;

constexpr const char* kForgiven = "CONVLAB_EMU_READS=forgiven";
// As floats 0.046 and -24.2, as halves 1.3 and -2.9: a product with a weight of zero is NaN for
// NaN, but zero for every number.
constexpr const char* kNumbersBeyond[] = {"CONVLAB_EMU_READS=forgiven:61",
                                          "CONVLAB_EMU_READS=forgiven:193"};

std::vector<ElementCase> of_one_image(std::vector<ElementCase> cases) {
  for (ElementCase& test : cases) test.shape.batch = 1;
  return cases;
}

Settings settings_of(const NextRun& next) {
  const std::string meeting = "CONVLAB_EMU_TRACE=" + next.meeting_places;
  switch (next.mode) {
    case Mode::kReadsForgiven:
      return {kForgiven};
    case Mode::kNumbersBeyond:
      return {kNumbersBeyond[0]};
    case Mode::kInStep:
      return {meeting};
    case Mode::kInStepForgiven:
      return {meeting, kForgiven};
    case Mode::kOneThread:
      return {"OMP_NUM_THREADS=1"};
    default:
      return {};
  }
}

bool is_late(const std::optional<Finding>& found) {
  return found && is_of_kind(*found, "time");
}

void conclude(Record& record, std::optional<Finding> found) {
  record.finding = std::move(found);
  record.end = record.finding ? RunEnd::kWrong : RunEnd::kRight;
}

}  // namespace

Record source_record(const CheckContext& context, const Finding& about) {
  const CustomSubmission& work = context.request.work;
  Record record{.experiment = Experiment::kSource, .end = RunEnd::kRight};
  // A file that does not compile has shown its errors already.
  if (!work.unbuilt) {
    const bool ask = work.warnings.empty() && work.build_emulated;
    record.warnings = ask ? work.build_emulated(false).warnings : work.warnings;
  }
  record.lines = suspect_lines(context.submission.sources(), with_warnings(about, record.warnings));
  return record;
}

Experiments::Experiments(const CheckContext& context, const StageInfo& stage,
                         const std::vector<int>& batches, std::uint64_t seed,
                         GradedNetwork& network)
    : context_(context),
      stage_(stage),
      batches_(batches),
      seed_(seed),
      network_(network),
      plan_(plan_for(context.request, stage, batches)) {
  const bool may_convert = plan_.rules == Rules::kCourse &&
                           std::ranges::none_of(ids_of_kind("converted"), [&](const auto& id) {
                             return context.request.refused.contains(id);
                           });
  context.submission.set(&Submission::Settings::host_may_convert, may_convert);
}

bool Experiments::is_emulated() const {
  return context_.submission.device().device == Device::kEmulated;
}

Evidence Experiments::begin() const {
  const CustomSubmission& work = context_.request.work;
  const SourceText& sources = context_.submission.sources();
  Evidence evidence{.stage = stage_.id,
                    .device = context_.submission.device().device,
                    .precision = stage_.precision};
  evidence.can_emulate = work.build_emulated != nullptr;
  evidence.has_regions =
      work.build_traced && !sources.lines_with({"#pragma", "omp", "parallel"}).empty();
  // Not an error in the command: the file declares it, and other stages can still be checked.
  if (supports_one_network(context_.request, stage_) &&
      stage_.only_for != context_.request.network) {
    evidence.only_for = stage_.only_for;
  }
  return evidence;
}

Record Experiments::run(const NextRun& next) {
  stage_.precision = next.precision;
  Record record{.experiment = next.experiment, .mode = next.mode, .precision = next.precision};
  if (auto late = time_is_up()) {
    conclude(record, late);
    return record;
  }
  switch (next.experiment) {
    case Experiment::kPrecision:
      find_precision(in(next), record);
      break;
    case Experiment::kCases:
      check_cases(in(next), record);
      break;
    case Experiment::kTeam:
      announce("what orders its threads");
      return find_openmp_race(context_.request.work.build_traced(), context_.submission.sources(),
                              stage_, seed_, context_.request.time_limit);
    case Experiment::kLeaks:
      conclude(record, check_leaks(in(next), stage_, plan_.repeated.front().shape, seed_));
      break;
    case Experiment::kNetwork:
      check_network(next, record);
      break;
    case Experiment::kHiddenBatches:
      check_hidden(in(next), record);
      break;
    case Experiment::kRehearsal:
      rehearse(next, record);
      break;
    case Experiment::kRaces:
      observe(next, record);
      break;
    case Experiment::kQuickCases:
      repeat_quick_cases(next, record);
      break;
    case Experiment::kFailedCase:
      repeat_failed_case(next, record);
      break;
    case Experiment::kLines:
      quote_lines(*next.about->product, record);
      break;
    case Experiment::kTaskRules:
      check_task(in(next), record);
      break;
    case Experiment::kSource:
      return source_record(context_, *next.about);
    default:
      in(next).set(&Submission::Settings::exchanges, next.exchanges);
      check_behaviour(in(next), record);
  }
  return record;
}

void Experiments::announce(const std::string& what) {
  context_.observer.announce(stage_.id + ": " + what);
  if (!sharing_.owns_lock()) return;
  sharing_.unlock();
  sharing_.lock();
}

std::optional<Finding> Experiments::time_is_up() const {
  if (std::chrono::steady_clock::now() < context_.request.deadline) return std::nullopt;
  return finding("E-timeout",
                 "The whole check took more than " + std::to_string(kMostTime.count()) + " hours.");
}

std::filesystem::path Experiments::emulated(bool traced) const {
  return context_.request.work.build_emulated(traced).program;
}

void Experiments::begin_tracing() {
  const BuildEmulated& build = context_.request.work.build_emulated;
  if (traced_.valid() || !build) return;
  traced_ = std::async(std::launch::async, [build] { return build(true); });
}

Submission& Experiments::in(const NextRun& next) {
  if (next.mode == Mode::kPlain || next.mode == Mode::kGuarded) return context_.submission;
  if (other_ && mode_of_other_ == next.mode) return *other_;
  context_.submission.restart();  // it takes no memory meanwhile
  const bool is_traced = next.mode == Mode::kInStep || next.mode == Mode::kInStepForgiven;
  const bool is_own = next.mode == Mode::kOneThread;
  other_.emplace(is_own ? context_.submission.program() : emulated(is_traced),
                 context_.request.time_limit, settings_of(next));
  mode_of_other_ = next.mode;
  other_->set_sources(context_.submission.sources());
  other_->set(&Submission::Settings::withheld, context_.submission.settings().withheld);
  other_->set(&Submission::Settings::host_may_convert,
              context_.submission.settings().host_may_convert);
  std::vector<StageInfo> stages;
  other_->list_stages(stages);  // it learns its device
  return *other_;
}

// The class that the stage's roundings show.
void Experiments::find_precision(Submission& submission, Record& record) {
  context_.observer.announce(stage_.id + ": how exactly it computes");
  std::vector<ConvShape> shapes = {plan_.phases};
  if (plan_.rules == Rules::kCourse) {
    shapes.clear();
    for (const ElementCase& test : plan_.repeated) shapes.push_back(test.shape);
  }
  record.precision = probe::precision_shown(submission, stage_, shapes);
  record.end = RunEnd::kRight;
}

void Experiments::check_cases(Submission& submission, Record& record) {
  // Nothing is timed here, so the GPU's memory may hold what shows in the output.
  submission.set(&Submission::Settings::gpu_memory, "poisoned");
  submission.set(&Submission::Settings::exchanges, true);
  std::size_t done = 0;
  for (const ElementCase& test : plan_.cases) {
    if ((record.finding = time_is_up())) break;
    announce("case " + std::to_string(++done) + " of " + std::to_string(plan_.cases.size()) + ", " +
             test.name);
    const CaseOutcome outcome = run_case(submission, stage_, test, seed_ + done);
    record.cases.push_back(outcome.result);
    record.finding = outcome.finding;
    record.end = end_of(outcome.call.failure, false);
    if (record.finding) {
      record.wrong_cases.push_back(test.name);
      failed_ = outcome.result;
      break;
    }
    if (!record.remark) record.remark = find_early_end(outcome.call, submission.sources());
    if (is_emulated()) begin_tracing();
  }
  submission.set(&Submission::Settings::gpu_memory, "usual");
  if (record.finding) return;
  record.end = RunEnd::kRight;
  context_.observer.tell(stage_, {.cases_passed = done});
}

void Experiments::check_behaviour(Submission& submission, Record& record) {
  struct Check {
    Experiment experiment;
    const char* announced;
    std::optional<Finding> (Behaviour::*run)();
  };
  static constexpr std::array kChecks = {
      Check{Experiment::kHiddenShapes, "random shapes", &Behaviour::hidden_shapes},
      Check{Experiment::kNarrowIndex, "random shapes", &Behaviour::narrow_index},
      Check{Experiment::kPhases, "which phase computes", &Behaviour::phases},
      Check{Experiment::kSmallChanges, "small changes of the input", &Behaviour::small_changes},
      Check{Experiment::kRepeatedInputs, "inputs of earlier calls", &Behaviour::repeated_inputs},
      Check{Experiment::kStillness, "work after the convolution", &Behaviour::stillness},
      Check{Experiment::kSecondConvolve, "a second convolve", &Behaviour::second_convolve},
      Check{Experiment::kLittleMemory, "a device with little memory", &Behaviour::little_memory},
      Check{Experiment::kOrders, "threads and streams in another order", &Behaviour::other_orders}};
  const auto* const check = std::ranges::find(kChecks, record.experiment, &Check::experiment);
  announce(check->announced);
  Behaviour behaviour{submission, stage_, plan_, seed_};
  conclude(record, (behaviour.*check->run)());
  record.wrong_cases = behaviour.wrong_cases;
}

void Experiments::check_network(const NextRun& next, Record& record) {
  network_.load(announcer_);
  Submission& submission = in(next);
  submission.set(&Submission::Settings::exchanges, next.exchanges);
  submission.set(&Submission::Settings::prolog_may_compute,
                 context_.request.rules.prolog_may_compute());
  sharing_.unlock();  // others may take times
  const std::lock_guard place(context_.machine.networks);
  sharing_.lock();
  check_batches(submission, record);
}

// On a GPU, times are taken when all batches are right: the other stages wait only meanwhile.
void Experiments::check_batches(Submission& submission, Record& record) {
  // A process that begins with this batch has taken the memory of no other.
  submission.restart();
  std::vector<NetworkOutcome> untimed;
  int largest = 0;
  for (const int batch : batches_) {
    if (auto late = time_is_up()) return conclude(record, late);
    if (batch < std::exchange(largest, std::max(batch, largest))) submission.restart();
    NetworkOutcome outcome;
    try {
      std::optional<Interruptible> stops;  // before a batch has ended there is nothing to keep
      if (!record.runs.empty() && !context_.machine.is_shared) stops.emplace();
      outcome = grader::check_network(submission, stage_, network_, batch, announcer_);
    } catch (const Interruptible::Interrupted&) {
      submission.restart();
      context_.machine.was_stopped = true;
      context_.observer.tell(stage_, {.note = "Batch " + std::to_string(batch) +
                                              " was stopped. What was found before it counts."});
      break;
    }
    if (!outcome.finding && submission.device().device == Device::kGpu) {
      untimed.push_back(std::move(outcome));
    } else if (auto found = finish_run(submission, outcome, record)) {
      return conclude(record, found);
    }
  }
  std::optional<Finding> found;
  if (!untimed.empty()) {
    const int share = omp_get_max_threads();
    sharing_.unlock();
    {
      const std::lock_guard alone(context_.machine);
      omp_set_num_threads(context_.machine.processors);
      for (NetworkOutcome& outcome : untimed) {
        if (!found) found = finish_run(submission, outcome, record);
      }
      omp_set_num_threads(share);
    }
    sharing_.lock();
  }
  // A thread that a timed call has left must not go on, whenever it was started.
  conclude(record, found ? found : find_idle_work(submission));
}

void Experiments::check_hidden(Submission& submission, Record& record) {
  const auto [smallest, largest] = std::minmax_element(batches_.begin(), batches_.end());
  std::optional<int> hidden;  // of any size where every shape must be right
  if (plan_.rules == Rules::kCourse) hidden = *smallest;
  conclude(record,
           check_hidden_batches(submission, stage_, network_, hidden, *largest, seed_, announcer_));
}

// Times what is right, and tells the outcome.
std::optional<Finding> Experiments::finish_run(Submission& submission, NetworkOutcome& outcome,
                                               Record& record) {
  time_network(submission, outcome, announcer_);
  record.runs.push_back(outcome.result);
  context_.observer.tell(stage_, {.run = outcome.result});
  if (!outcome.finding) return std::nullopt;
  const auto why = overflow_at(outcome.result.batch, context_.request, submission, stage_);
  return why && why->is_proved ? why : outcome.finding;
}

void Experiments::check_task(Submission& submission, Record& record) {
  announce("what its task asks for");
  const GradeRequest& request = context_.request;
  auto found = broken_rules(request, submission, stage_, plan_.repeated.back().shape.batch);
  // The batches that were right may be smaller than those that the task asks for.
  if (const std::vector<int> asked = request.rules.batches(); !found && !asked.empty()) {
    found = overflow_at(*std::ranges::max_element(asked), request, submission, stage_);
    if (found && !found->is_proved) record.remark = std::exchange(found, std::nullopt);
  }
  conclude(record, found);
}

// A GPU's file on an emulated device, whose finding knows lines and threads. What takes too long
// gets more time once.
void Experiments::rehearse(const NextRun& next, Record& record) {
  context_.observer.announce(stage_.id + ": the same on an emulated device");
  const EmulatedProgram built = context_.request.work.build_emulated(false);
  if (built.program.empty()) {
    record.finding = built.refused;
    record.end = RunEnd::kNotBuilt;
    return;
  }
  Submission submission(built.program, context_.request.time_limit);
  submission.set(&Submission::Settings::host_may_convert,
                 context_.submission.settings().host_may_convert);
  submission.set_sources(context_.submission.sources());
  std::vector<StageInfo> stages;
  if (const auto failure = submission.list_stages(stages)) {
    record.finding = explain(*failure, "the list of stages, emulated");
    record.end = end_of(failure, false);
    return;
  }
  CasePlan again = plan_;
  if (next.about) again.repeated = plan_.cases;
  const auto finding_of = [&](const CasePlan& cases) {
    auto found = first_finding(submission, stage_, cases.repeated, seed_);
    if (!found) found = Behaviour{submission, stage_, cases, seed_}.on_emulated();
    return found ? found : check_leaks(submission, stage_, cases.repeated.front().shape, seed_);
  };
  const auto whole = [&] {
    if (plan_.rules == Rules::kWorkbook) return finding_of(again);
    // One image is quick, but what it shows must hold for the course's batches, too.
    CasePlan small = again;
    small.repeated = of_one_image(again.repeated);
    return finding_of(small) ? finding_of(again) : std::nullopt;
  };
  auto found = whole();
  if (is_late(found) && !is_late(next.about)) {
    submission.set(&Submission::Settings::patience, kPatience);
    found = whole();
  }
  conclude(record, found);
}

void Experiments::observe(const NextRun& next, Record& record) {
  context_.observer.announce(stage_.id + ": what orders its threads");
  begin_tracing();
  CasePlan watched = plan_;
  // A race may need more products than the usual cases have, and outputs for several warps.
  const bool is_known = next.about && next.about->product;
  ConvShape shape = is_known ? next.about->product->shape : ConvShape{1, 2, 6, 5, 4, 5, 1};
  shape.height += 8 * shape.stride, shape.width += 16 * shape.stride;
  if (is_known || plan_.rules == Rules::kWorkbook) {
    watched.repeated.push_back({"many products", shape, true});
  }
  const EmulatedProgram plain = context_.request.work.build_emulated(false);
  record = observe_accesses(plain.program.empty() ? plain : traced_.get(),
                            SourceText(context_.request.work.sources), stage_, watched, seed_,
                            next.about.has_value(), context_.request.time_limit,
                            context_.submission.settings());
}

// Of the traced program, those that load, exchange and store the product.
void Experiments::quote_lines(const WrongProduct& product, Record& record) {
  announce("which lines make this");
  record.end = RunEnd::kRight;
  begin_tracing();
  Submission traced(traced_.get().program, context_.request.time_limit);
  traced.set_sources(context_.submission.sources());
  std::vector<StageInfo> stages;
  if (traced_.get().program.empty() || traced.list_stages(stages)) return;
  record.lines = lines_of_product(traced, stage_, product);
}

// The output must be right with all settings. One image is quick. But some files divide the batch
// by the number of their streams, and the course never ran fewer images.
void Experiments::repeat_quick_cases(const NextRun& next, Record& record) {
  if (next.mode == Mode::kGuarded) {
    announce("with nothing behind its arrays");
    Submission& submission = context_.submission;
    submission.set(&Submission::Settings::gpu_memory, "guarded");
    conclude(record, first_finding(submission, stage_, plan_.repeated, seed_));
    submission.set(&Submission::Settings::gpu_memory, "usual");
    submission.restart();
    return;
  }
  announce("whether a GPU would show this");
  std::vector<ElementCase> cases = plan_.repeated;
  for (ElementCase& test : cases) test.probe = ElementCase::Probe::kKnown;
  const std::vector<ElementCase> small = of_one_image(cases);
  Submission& submission = in(next);
  std::vector<Settings> others = {{}};
  if (next.mode == Mode::kNumbersBeyond) others.push_back({kNumbersBeyond[1]});
  for (const Settings& settings : others) {
    if (!settings.empty()) submission.set_environment(settings);
    record.finding = first_finding(submission, stage_, small, seed_);
    if (record.finding && plan_.rules == Rules::kCourse) {
      record.finding = first_finding(submission, stage_, cases, seed_);
    }
    if (record.finding) break;
  }
  submission.set_environment({});
  conclude(record, record.finding);
}

void Experiments::repeat_failed_case(const NextRun& next, Record& record) {
  const auto test = std::ranges::find(plan_.cases, failed_->name, &ElementCase::name);
  conclude(record, run_case(in(next), stage_, *test, failed_->seed).finding);
}

}  // namespace convlab::grader
