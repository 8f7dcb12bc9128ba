#include <algorithm>
#include <cmath>

#include "common/device/device_limits.hpp"
#include "common/device/physical_floor.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/plots/all_pictures.hpp"

namespace convlab::grader {

namespace {

constexpr double kTera = 1e-12;  // speeds are in TFLOP/s here, bandwidths in TB/s

double tera_operations(const LayerResult& layer) {
  return 2.0 * static_cast<double>(layer.shape.multiply_adds()) * kTera;
}

// A GPU's runs at their largest batch, with as many layers as the last one.
std::vector<PlottedRun> runs_on_gpu(const std::vector<Result>& results,
                                    const std::string& network) {
  std::vector<PlottedRun> runs = plotted_runs(results, network);
  std::erase_if(runs, [](const PlottedRun& item) { return item.run->device != Device::kGpu; });
  if (runs.empty()) return runs;
  const RunResult& largest = *std::ranges::max_element(runs, [](const auto& a, const auto& b) {
                                return a.run->batch < b.run->batch;
                              })->run;
  std::erase_if(runs, [&](const PlottedRun& item) {
    return item.run->batch != largest.batch || item.run->layers.size() != largest.layers.size();
  });
  return runs;
}

std::string caption(const PlottedRun& last) {
  const MachineInfo& machine = last.result->machine;
  constexpr std::size_t kDate = 10;
  return machine.gpu + ", driver " + machine.driver + " · network " + last.run->network +
         " · batch " + grouped(last.run->batch) + " · ceilings " +
         (machine.measured.bytes_per_second > 0.0 ? "measured" : "promised") + " · commit " +
         machine.commit + " · " + last.result->created.substr(0, kDate);
}

}  // namespace

std::optional<Picture> roofline(const std::vector<Result>& results, const std::string& network) {
  const std::vector<PlottedRun> runs = runs_on_gpu(results, network);
  if (runs.empty()) return std::nullopt;
  const MachineInfo& machine = runs.back().result->machine;
  const DeviceLimits limits = with_measured(machine.promised, machine.measured);
  const double slope = limits.bytes_per_second * kTera;
  const double fp32 = limits.fp32_per_second * kTera;
  if (!(slope > 0.0 && fp32 > 0.0)) return std::nullopt;
  PlotData data({"ceilings", "layers", "points"});
  data.set("slope", slope);
  data.command("memory = " + quoted("memory " + three_digits(slope) + " TB/s"));
  data.add("ceilings", fp32, "fp32 " + three_digits(fp32));
  double roof = fp32;
  if (std::any_of(
          runs.begin(), runs.end(),
          [](const PlottedRun& item) { return item.run->stage.precision == Precision::kFp16; }) &&
      limits.fp16_per_second > 0.0) {
    roof = limits.fp16_per_second * kTera;
    data.add("ceilings", roof, "fp16 " + three_digits(roof));
  }
  const std::size_t count = runs.back().run->layers.size();
  LogRange x{.low = HUGE_VAL, .high = 0.0};
  LogRange y{.low = fp32, .high = std::max(fp32, roof)};
  std::vector<std::vector<PointLabel>> labels(count);
  for (std::size_t i = 0; i < count; ++i) {
    const LayerResult& of_layer = runs.back().run->layers[i];
    const double intensity = tera_operations(of_layer) / kTera /
                             static_cast<double>(compulsory_traffic(of_layer.shape).bytes());
    data.add("layers", intensity);
    x.include(intensity);
    for (const PlottedRun& item : runs) {
      const LayerResult& layer = item.run->layers[i];
      const double speed = tera_operations(layer) / (spread_of(layer.op_ms).median * 1e-3);
      data.add("points", i, intensity, speed);
      y.include(speed);
      labels[i].push_back({intensity, speed, short_name(item, runs) + "  " + three_digits(speed),
                           static_cast<int>(i)});
    }
  }
  // Room for the name of the slope, and for the labels beside the layers.
  x = {.low = x.low / 14.0, .high = x.high * 9.0};
  y = {.low = y.low / 2.5, .high = y.high * 2.0};
  data.ranges(x, y);
  for (std::size_t i = 0; i < count; ++i) {
    // Between two layers there is no room for the labels of both.
    const bool to_the_left = i == 0 && count > 1;
    const double column = x.at(x.share(labels[i][0].x) + (to_the_left ? -0.04 : 0.04));
    data.command(point_labels(std::move(labels[i]), y, column, to_the_left));
  }
  return Picture{.name = "roofline-" + network,
                 .form = "roofline",
                 .title = "Roofline",
                 .caption = caption(runs.back()),
                 .x_title = "operations for each byte that must be moved (log scale)",
                 .y_title = "TFLOP/s (log scale)",
                 .data = std::move(data)};
}

}  // namespace convlab::grader
