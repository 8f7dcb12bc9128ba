#include "grader/scores/edition_points.hpp"

#include <algorithm>

#include "common/base/text.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"

namespace convlab::grader {

namespace {

// The sum of the op times at a batch; none if they were not measured on a GPU.
std::optional<double> op_time(const CheckResult& check, int batch) {
  for (const RunResult& run : check.result.runs) {
    if (run.batch != batch || run.device == Device::kEmulated || run.layers.empty()) continue;
    double sum = 0.0;
    for (const LayerResult& layer : run.layers) {
      if (layer.op_ms.empty()) return std::nullopt;
      sum += spread_of(layer.op_ms).median;
    }
    return sum;
  }
  return std::nullopt;
}

// "60 ms on an NVIDIA A40" or "60 to 100 ms on an NVIDIA A40".
std::string scale_text(const TimeRule& rule, const Edition& edition) {
  std::string text = three_digits(rule.full_ms);
  if (rule.none_ms > rule.full_ms) text += " to " + three_digits(rule.none_ms);
  return text + " ms on an " + edition.gpu;
}

}  // namespace

bool is_half(Precision precision) {
  using enum Precision;
  return precision != kFp32 && precision != kTf32 && precision != kTf32Truncated;
}

EditionScore edition_score(const RulesRequest& rules, const CheckResult& check,
                           const SourceText& sources) {
  const Edition& edition = *rules.edition;
  const EditionTask& task = *rules.task;
  EditionScore score{.task = edition.id_of(task), .points = task.points, .counts = true};
  if (check.result.verdict != Verdict::kPassed) {
    score.why = check.findings.empty() ? "not passed" : check.findings.front().id;
    return score;
  }
  score.earned = task.points;
  const auto at_most = [&](double points, const char* why) {
    score.earned = std::min(score.earned, points);
    score.why = why;
  };
  if (task.points_in_half > 0.0 && std::ranges::any_of(check.result.runs, [](const RunResult& run) {
        return is_half(run.stage.precision);
      })) {
    at_most(task.points_in_half, "it computes in half precision");
  }
  if (task.points_without_half2 > 0.0 && !sources.has("half2") && !sources.has("__half2")) {
    at_most(task.points_without_half2, "it uses no half2");
  }
  if (!task.time) return score;
  const std::string scale = scale_text(*task.time, edition);
  const std::optional<double> time = op_time(check, task.time->batch);
  if (!time) {
    // A limit leaves the points of a right file; a scale is all that the points are for.
    score.counts = task.time->none_ms <= task.time->full_ms;
    if (!score.counts) score.earned = 0.0;
    const std::string at = "at " + count_of(task.time->batch, "image");
    score.why = score.counts ? "whether it keeps " + scale + " " + at + " was not measured"
                             : "its time " + at + " was not measured (" + scale + ")";
    return score;
  }
  score.earned *= task.time->share(*time);
  const std::string& gpu = check.result.machine.gpu;
  score.why = three_digits(*time) + " ms on an " + (gpu.empty() ? "unknown GPU" : gpu) + "; " +
              scale + (gpu == edition.gpu ? "" : ", and nothing is scaled");
  return score;
}

}  // namespace convlab::grader
