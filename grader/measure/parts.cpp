#include "grader/measure/parts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "grader/checks/element_cases.hpp"

namespace convlab::grader {

const std::vector<Part>& all_parts() {
  static const std::vector<Part> all = {
      {"shared-part", "output that numbers in shared memory make", "shared"},
      {"constant-part", "output that numbers in constant memory make", "constant"},
      {"shuffle-part", "output that numbers from other lanes make", "shuffles"},
      {"atomic-part", "output that atomic operations on numbers make", "atomics"},
      {"async-part", "output that asynchronously copied numbers make", "copies"},
      {"passed-part", "output that numbers of an earlier kernel make", "kernels"},
      {"index-part", "output that indices in global memory make", "indices"},
      {"graph-part", "output that launches of graphs make"},
      {"stream-part", "output that a second stream makes"},
      {"stream-copies", "output that needs asynchronous copies in streams"},
      {"device-part", "output that a second device makes"},
      {"layer-part", "launches of kernels that the other convolution does not have"}};
  return all;
}

namespace {

// The outputs of positive numbers if the device leaves out some work; none if it fails then.
std::vector<float> outputs_with(Submission& submission, const StageInfo& stage,
                                const ConvShape& shape, const std::string& setting) {
  submission.restart();  // what it has kept of an earlier run is no part of this one
  submission.set_environment({"CONVLAB_EMU_THREADS=1", setting});
  const Arrays arrays = submission.prepare(shape, Placement::kAligned);
  fill_random({.shape = shape, .exact = true}, kCountedSeed, arrays);
  const auto absolute = [](float number) { return std::abs(number); };
  std::transform(arrays.input, arrays.input + shape.input_size(), arrays.input, absolute);
  std::transform(arrays.weights, arrays.weights + shape.weights_size(), arrays.weights, absolute);
  const bool failed = submission.run(stage.id).failure.has_value();
  submission.set_environment({});
  if (failed) return {};
  return {arrays.output, arrays.output + shape.output_size()};
}

double sum_of(const std::vector<float>& outputs) {
  // Poison, which stands where nobody wrote, is no number.
  return std::accumulate(outputs.begin(), outputs.end(), 0.0, [](double sum, float number) {
    return std::isfinite(number) ? sum + std::abs(number) : sum;
  });
}

// The part of the outputs that have another size in the second run.
double part_changed(const std::vector<float>& usual, const std::vector<float>& others) {
  double changed = 0.0;
  for (std::size_t i = 0; i < std::min(usual.size(), others.size()); ++i)
    changed += std::fabs(usual[i]) != std::fabs(others[i]) ? 1.0 : 0.0;
  return usual.empty() ? 0.0 : changed / static_cast<double>(usual.size());
}

// The part of the outputs that are others if the numbers are lost that come this way.
// @param usual  the outputs where none are lost
double part_from(const std::string& way, const std::vector<float>& usual, Submission& submission,
                 const StageInfo& stage, const ConvShape& shape) {
  return part_changed(usual, outputs_with(submission, stage, shape, "CONVLAB_EMU_TRACE=no-" + way));
}

// The launches of kernels that a run of the other convolution does not have.
double part_of_layer(Submission& submission, const StageCounts& counts, const ConvShape& other) {
  submission.restart();
  const TracedRun run = run_traced(submission, counts.stage, other, "off");
  const auto is_common = [&](const DeviceLaunch& launch) {
    return std::ranges::count(run.call.notes.launches, launch.code, &DeviceLaunch::code) > 0;
  };
  if (run.finding || counts.launches.empty()) return 0.0;
  const auto own = static_cast<double>(counts.launches.size()) -
                   static_cast<double>(std::ranges::count_if(counts.launches, is_common));
  return own / static_cast<double>(counts.launches.size());
}

}  // namespace

double part_on_tensor_cores(Submission& submission, const StageInfo& stage,
                            const ConvShape& shape) {
  const std::string setting = "CONVLAB_EMU_PRODUCTS=";
  const auto made = outputs_with(submission, stage, shape, setting + "made");
  const auto turned = outputs_with(submission, stage, shape, setting + "turned");
  const double all = sum_of(made);
  const double others = sum_of(outputs_with(submission, stage, shape, setting + "none"));
  if (all <= 0.0) return 0.0;
  return std::min(std::clamp(1.0 - others / all, 0.0, 1.0), part_changed(made, turned));
}

void count_parts(Submission& submission, const StageInfo& stage, const ConvShape& shape,
                 const std::vector<std::string>& ids, StageCounts& counts) {
  std::map<std::string, double> sums;
  const auto part = [&](const std::string& work) {
    for (const std::string& each : {std::string("all"), work}) {
      if (sums.contains(each)) continue;
      sums[each] = sum_of(outputs_with(submission, stage, shape, "CONVLAB_EMU_WORK=" + each));
    }
    return sums["all"] > 0.0 ? sums[work] / sums["all"] : 0.0;
  };
  // Of two that divide the work the smaller part, in one run or another: threads of the host may
  // divide it otherwise each time. Neither makes all of it.
  const auto divided = [&](const std::string& one, const std::string& other) {
    return std::max(0.0, std::min({part(one), part(other), 1.0 - part(one), 1.0 - part(other)}));
  };
  std::optional<std::vector<float>> usual;
  for (const std::string& id : ids) {
    const auto known =
        std::ranges::find_if(all_parts(), [&](const Part& each) { return each.id == id; });
    if (known != all_parts().end() && known->way != nullptr) {
      if (!usual) usual = outputs_with(submission, stage, counts.shape, "CONVLAB_EMU_TRACE=off");
      counts.parts[id] = part_from(known->way, *usual, submission, stage, counts.shape);
      continue;
    }
    counts.parts[id] = id == "graph-part"    ? part("graphs")
                       : id == "stream-part" ? divided("first-stream", "other-streams")
                       : id == "device-part" ? divided("first-device", "second-device")
                       : id == "layer-part"  ? part_of_layer(submission, counts, shape)
                                             : 1.0 - part("plain-copies");
  }
}

}  // namespace convlab::grader
