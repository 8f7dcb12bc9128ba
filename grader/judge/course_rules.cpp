#include "grader/judge/course_rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <set>

#include "common/base/text.hpp"
#include "common/device/scale_matmul.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/measure/counters.hpp"
#include "grader/scores/edition_points.hpp"
#include "reference/oracle/comparison.hpp"

namespace convlab::grader {

namespace {

/// What small convolutions show.
class Looks {
 public:
  Looks(const GradeRequest& request, Submission& submission, const StageInfo& stage, int batch)
      : request_(request), submission_(submission), stage_(stage), batch_(batch) {}

  RuleFacts facts(const std::vector<std::string>& rules) {
    const auto asks_for = [&](const char* rule) { return std::ranges::count(rules, rule) > 0; };
    RuleFacts facts{.precision = stage_.precision};
    // A file may treat the layers differently.
    for (const ConvShape& layer : load_preset(request_.network).conv_shapes(batch_)) {
      shape_ = layer;
      if (asks_for("kernels-in-convolve")) look_at_phases(facts);
      if (asks_for("one-stream")) look_at_streams(facts);
      if (asks_for("matmul")) look_at_matmul(facts);
    }
    if (asks_for("tiled-product") || asks_for("unrolling")) look_at_products(facts);
    return facts;
  }

 private:
  Arrays arrays(Submission& submission) {
    const Arrays arrays = submission.prepare(shape_, Placement::kAligned);
    fill_random({.shape = shape_, .exact = true}, std::random_device{}(), arrays);
    return arrays;
  }

  void look_at_phases(RuleFacts& facts) {
    arrays(submission_);
    const Call call = submission_.run_phases(stage_.id, [] {});
    if (call.failure) return;
    facts.phases.prolog = std::max(facts.phases.prolog, call.kernels.prolog);
    facts.phases.epilog = std::max(facts.phases.epilog, call.kernels.epilog);
  }

  void look_at_streams(RuleFacts& facts) {
    arrays(submission_);
    const Call call = submission_.run(stage_.id);
    if (!call.failure) facts.streams = std::max(facts.streams, call.notes.streams.size());
  }

  // Of each convolution of the network, which may have a kernel of its own.
  void look_at_products(RuleFacts& facts) {
    const EmulatedProgram traced = request_.work.build_emulated(true);
    if (traced.refused) return;
    Submission counting(traced.program, request_.time_limit);
    std::vector<StageInfo> stages;
    if (counting.list_stages(stages)) return;
    const SourceText sources(request_.work.sources);
    for (const ConvShape& layer : load_preset(request_.network).conv_shapes(1)) {
      StageCounts counts;
      if (count_accesses(counting, stage_, layer, counts)) continue;
      const auto value = [&](const char* id) { return find_counter(id)->value(counts); };
      facts.layers.push_back(
          {.shape = counts.shape,
           .has_tiles = !std::isnan(value("conflicts-per-request")) || value("tensor-share") > 0.0,
           .unrolling = unrolling_of(counts, sources)});
    }
  }

  // The grader's kernel doubles every product then, so the output doubles, too.
  void look_at_matmul(RuleFacts& facts) {
    submission_.set_environment({kMatmulSetting + std::string("2")});
    const Arrays given = arrays(submission_);
    const Call call = submission_.run(stage_.id);
    std::vector<float> doubled(given.weights, given.weights + shape_.weights_size());
    for (float& weight : doubled) weight *= 2.0F;
    facts.calls_matmul &=
        call.failure || oracle::compare(shape_, given.input, doubled.data(), given.output,
                                        oracle::Tolerance::of(stage_.precision, shape_))
                            .passed(shape_);
    submission_.set_environment({});
  }

  const GradeRequest& request_;
  Submission& submission_;
  const StageInfo& stage_;
  int batch_;
  ConvShape shape_{};
};

// A plain kernel has 1; half of that is what an unrolled matrix and its product need for a tile of
// four rows.
constexpr double kMostLoads = 0.75;

std::string no_tiled_product(const RuleFacts::Layer& layer) {
  if (!layer.has_tiles)
    return "it multiplies neither from tiles in shared memory nor on tensor cores";
  if (layer.unrolling.loads_per_product <= kMostLoads) return {};
  return "in a convolution of " + to_string(layer.shape) +
         " its tiles hold no input: it loads the input from global memory " +
         three_digits(layer.unrolling.loads_per_product) + " times for each product";
}

// A kernel that keeps a piece of the image loads a pixel once for many of its places. A few may
// come from a register of the neighbour.
std::string not_unrolled(const RuleFacts::Layer& layer) {
  constexpr double kLeast = 0.8;
  if (layer.unrolling.part >= kLeast) return {};
  return "in a convolution of " + to_string(layer.shape) + " its kernels make " +
         three_digits(100.0 * layer.unrolling.part) + " % of the unrolled input";
}

// Why a rule is broken; empty if it is kept, or if nobody can tell.
std::string why_broken(const std::string& rule, const RuleFacts& facts) {
  if (rule == "no-half") {
    return is_half(facts.precision) ? std::string("it computes like ") + describe(facts.precision)
                                    : "";
  }
  if (rule == "kernels-in-convolve" && (facts.phases.prolog > 0 || facts.phases.epilog > 0)) {
    return "prolog launches " + count_of(facts.phases.prolog, "kernel") + " and epilog " +
           std::to_string(facts.phases.epilog) + "; all must be in conv_forward_gpu";
  }
  if (rule == "one-stream" && facts.streams > 1) {
    return "its kernels run in " + std::to_string(facts.streams) + " streams; one is allowed";
  }
  if (rule == "matmul" && !facts.calls_matmul) {
    return "its output does not come from the kernel of matmul.h, which stays as the course gives "
           "it";
  }
  for (const RuleFacts::Layer& layer : facts.layers) {
    const std::string why = rule == "tiled-product" ? no_tiled_product(layer)
                            : rule == "unrolling"   ? not_unrolled(layer)
                                                    : "";
    if (!why.empty()) return why;
  }
  return {};
}

// The program, or on a GPU the same file emulated; null if that cannot be built.
Submission* emulated_of(const GradeRequest& request, Submission& submission,
                        std::optional<Submission>& rehearsal) {
  if (submission.device().device == Device::kEmulated) return &submission;
  if (!request.work.build_emulated) return nullptr;
  const EmulatedProgram built = request.work.build_emulated(false);
  std::vector<StageInfo> stages;
  if (built.refused) return nullptr;
  rehearsal.emplace(built.program, request.time_limit);
  return rehearsal->list_stages(stages) ? nullptr : &*rehearsal;
}

// The elements of the largest array that it would allocate for a shape, by what it allocates for a
// few images.
std::int64_t largest_array(Submission& emulated, const StageInfo& stage, ConvShape shape) {
  constexpr int kFew = 4;
  const int all = std::exchange(shape.batch, kFew);
  emulated.prepare(shape, Placement::kAligned);
  std::int64_t most = 0;
  for (const DeviceTransfer& each : emulated.run(stage.id).notes.transfers) {
    if (each.what == "allocation") most = std::max(most, each.bytes);
  }
  return most / std::int64_t{sizeof(float)} / kFew * all;
}

}  // namespace

std::vector<std::string> rules_to_keep(const GradeRequest& request) {
  const auto& [rules, edition, task] = request.rules;
  std::vector<std::string> names = task ? task->rules : std::vector<std::string>();
  if (task && task->matmul) names.emplace_back("matmul");
  if (request.competition && edition && edition->competition) {
    for (const std::string& rule : edition->competition->rules) {
      if (std::ranges::find(names, rule) == names.end()) names.push_back(rule);
    }
  }
  return names;
}

std::optional<Finding> overflow_at(int batch, const GradeRequest& request, Submission& submission,
                                   const StageInfo& stage) {
  std::optional<Submission> rehearsal;
  if (!request.rules.task || !request.work.build_sized) return std::nullopt;
  Submission* const emulated = emulated_of(request, submission, rehearsal);
  if (emulated == nullptr) return std::nullopt;
  for (const ConvShape& shape : load_preset(request.network).conv_shapes(batch)) {
    if (largest_array(*emulated, stage, shape) <= std::numeric_limits<int>::max()) continue;
    Submission sized(request.work.build_sized(), request.time_limit,
                     {"CONVLAB_EMU_WORK=samples", "CONVLAB_EMU_MEMORY=65536"});
    sized.set(&Submission::Settings::withheld, Withheld::kNothing);
    sized.set_sources(SourceText(request.work.sources));
    std::vector<StageInfo> stages;
    if (sized.program().empty() || sized.list_stages(stages)) return std::nullopt;
    try {
      sized.prepare(shape, Placement::kAligned);
    } catch (const EnvironmentError&) {  // too little memory even for the host's arrays
      return std::nullopt;
    }
    const auto failure = sized.run(stage.id, std::nullopt).failure;
    if (!failure || !failure->fault || failure->fault->kind != FaultKind::kOverflow) continue;
    Finding found = explain(*failure, "a convolution of " + to_string(shape));
    found.is_proved = !failure->fault->follows.empty();
    return found;
  }
  return std::nullopt;
}

std::optional<Finding> broken_rules(const GradeRequest& request, Submission& submission,
                                    const StageInfo& stage, int batch) {
  const std::vector<std::string> rules = rules_to_keep(request);
  std::optional<Submission> rehearsal;
  if (rules.empty()) return std::nullopt;
  Submission* const emulated = emulated_of(request, submission, rehearsal);
  if (emulated == nullptr) return std::nullopt;
  return broken_by(Looks(request, *emulated, stage, batch).facts(rules), rules);
}

std::optional<Finding> broken_by(const RuleFacts& facts, const std::vector<std::string>& rules) {
  std::string seen;
  for (const std::string& rule : rules) {
    const std::string why = why_broken(rule, facts);
    if (!why.empty()) seen += (seen.empty() ? "" : "\n") + rule + ": " + why + ".";
  }
  if (seen.empty()) return std::nullopt;
  return finding("E-course-rule", seen);
}

std::string why_not_ranked(const Result& result, Device device) {
  if (result.verdict != Verdict::kPassed)
    return "only right results that keep its rules are ranked.";
  // A class of less precision may have another count and be right.
  const auto is_exact = [](const RunResult& run) {
    const AccuracyResult seen = run.accuracy.value_or(AccuracyResult{});
    return std::abs(seen.correct - seen.expected.value_or(seen.correct)) <= seen.undecided;
  };
  if (!std::ranges::all_of(result.runs, is_exact))
    return "only files with exactly the basic kernel's accuracy are ranked.";
  return device == Device::kGpu ? "" : "only times of a GPU are ranked.";
}

}  // namespace convlab::grader
