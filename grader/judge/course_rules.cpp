#include "grader/judge/course_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "common/base/text.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/checks/element_cases.hpp"
#include "grader/checks/findings/catalogue.hpp"
#include "grader/measure/counters.hpp"
#include "grader/scores/edition_points.hpp"
#include "reference/oracle/comparison.hpp"

namespace convlab::grader {

namespace {

/// What one small convolution shows.
class Looks {
 public:
  Looks(const GradeRequest& request, Submission& submission, const StageInfo& stage,
        const ConvShape& shape)
      : request_(request), submission_(submission), stage_(stage), shape_(shape) {}

  /// Why a rule is broken; empty if it is kept, or if nobody can tell.
  std::string why_broken(const std::string& rule) {
    if (rule == "no-half") {
      const std::string name = describe(stage_.precision);
      return is_half(stage_.precision) ? "it computes like " + name : "";
    }
    if (rule == "kernels-in-convolve") return kernels_elsewhere();
    if (rule == "one-stream") return several_streams();
    if (rule == "tiled-product") return no_tiles();
    if (rule == "unrolling") return not_unrolled();
    return rule == "matmul" ? no_matmul() : "";
  }

 private:
  Arrays arrays(Submission& submission) {
    const Arrays arrays = submission.prepare(shape_, Placement::kAligned);
    fill_random({.shape = shape_, .exact = true}, std::random_device{}(), arrays);
    return arrays;
  }

  std::string kernels_elsewhere() {
    arrays(submission_);
    const Call call = submission_.run_phases(stage_.id, [] {});
    const PhaseKernels& kernels = call.kernels;
    if (call.failure || (kernels.prolog <= 0 && kernels.epilog <= 0)) return {};
    return "prolog launches " + count_of(kernels.prolog, "kernel") + " and epilog " +
           std::to_string(kernels.epilog) + "; all must be in conv_forward_gpu";
  }

  std::string several_streams() {
    arrays(submission_);
    const Call call = submission_.run(stage_.id);
    const auto& streams = call.notes.streams;
    if (call.failure || streams.size() < 2) return {};
    return "its kernels run in " + std::to_string(streams.size()) + " streams; one is allowed";
  }

  // Of each convolution of the network, which may have a kernel of its own; none if nobody can
  // tell.
  const std::vector<StageCounts>& counted() {
    if (counted_) return *counted_;
    counted_.emplace();
    const EmulatedProgram traced = request_.work.build_emulated(true);
    if (traced.refused) return *counted_;
    Submission counting(traced.program, request_.time_limit);
    std::vector<StageInfo> stages;
    if (counting.list_stages(stages)) return *counted_;
    for (const ConvShape& layer : load_preset(request_.network).conv_shapes(1)) {
      StageCounts counts;
      if (!count_accesses(counting, stage_, layer, counts)) counted_->push_back(counts);
    }
    return *counted_;
  }

  // Tiles in shared memory, or tensor cores.
  std::string no_tiles() {
    const auto value = [](const StageCounts& counts, const char* id) {
      return find_counter(id)->value(counts);
    };
    for (const StageCounts& counts : counted()) {
      const bool has_tiles = !std::isnan(value(counts, "conflicts-per-request"));
      if (!has_tiles && !(value(counts, "tensor-share") > 0.0))
        return "it multiplies neither from tiles in shared memory nor on tensor cores";
    }
    return {};
  }

  // A kernel that keeps a piece of the image loads a pixel once for many of its places. A few may
  // come from a register of the neighbour.
  std::string not_unrolled() {
    constexpr double kLeast = 0.8;
    const SourceText sources(request_.work.sources);
    for (const StageCounts& counts : counted()) {
      const double part = unrolled_part(counts, sources);
      if (part >= kLeast) continue;
      return "in a convolution of " + to_string(counts.shape) + " its kernels move " +
             three_digits(100.0 * part) + " % of the unrolled input";
    }
    return {};
  }

  // The grader's kernel doubles every product then, so the output doubles, too.
  std::string no_matmul() {
    submission_.set_environment({"CONVLAB_MATMUL_FACTOR=2"});
    const Arrays given = arrays(submission_);
    const Call call = submission_.run(stage_.id);
    std::vector<float> doubled(given.weights, given.weights + shape_.weights_size());
    for (float& weight : doubled) weight *= 2.0F;
    const bool is_doubled = oracle::compare(shape_, given.input, doubled.data(), given.output,
                                            oracle::Tolerance::of(stage_.precision, shape_))
                                .passed(shape_);
    submission_.set_environment({});
    return call.failure || is_doubled ? ""
                                      : "its output does not come from the kernel of matmul.h, "
                                        "which stays as the course gives it";
  }

  const GradeRequest& request_;
  Submission& submission_;
  const StageInfo& stage_;
  ConvShape shape_;
  std::optional<std::vector<StageCounts>> counted_{};
};

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

std::string int_overflow(const GradeRequest& request, int batch) {
  if (!request.rules.task || !request.rules.task->matmul) return {};
  std::int64_t most = 0;
  for (const ConvShape& shape : load_preset(request.network).conv_shapes(batch)) {
    most = std::max(most, std::int64_t{shape.in_channels} * shape.kernel * shape.kernel *
                              shape.batch * shape.out_height() * shape.out_width());
  }
  constexpr std::int64_t kLargest = std::numeric_limits<int>::max();
  if (most <= kLargest) return {};
  return "At " + count_of(batch, "image") + " the unrolled matrix has " + std::to_string(most) +
         " elements, more than an int holds (" + std::to_string(kLargest) +
         "): compute its size and its indices as size_t.";
}

std::optional<Finding> broken_rules(const GradeRequest& request, Submission& submission,
                                    const StageInfo& stage, const ConvShape& shape) {
  const std::vector<std::string> rules = rules_to_keep(request);
  if (rules.empty() || !request.work.build_emulated) return std::nullopt;
  std::optional<Submission> rehearsal;
  Submission* emulated = &submission;
  if (submission.device().device != Device::kEmulated) {
    const EmulatedProgram built = request.work.build_emulated(false);
    std::vector<StageInfo> stages;
    if (built.refused) return std::nullopt;
    emulated = &rehearsal.emplace(built.program, request.time_limit);
    if (emulated->list_stages(stages)) return std::nullopt;
  }
  Looks looks(request, *emulated, stage, shape);
  std::string seen;
  for (const std::string& rule : rules) {
    const std::string why = looks.why_broken(rule);
    if (!why.empty()) seen += (seen.empty() ? "" : "\n") + rule + ": " + why + ".";
  }
  if (seen.empty()) return std::nullopt;
  return finding("E-course-rule", seen);
}

}  // namespace convlab::grader
