#include <algorithm>

#include "common/device/physical_bound.hpp"
#include "common/timing/statistics.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/report/numbers.hpp"
#include "grader/report/plots/result_figures.hpp"

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

std::optional<Figure> roofline(const std::vector<Result>& results, const std::string& network) {
  const std::vector<PlottedRun> runs = runs_on_gpu(results, network);
  if (runs.empty()) return std::nullopt;
  const MachineInfo& machine = runs.back().result->machine;
  const DeviceLimits limits = with_measured(machine.promised, machine.measured);
  const double slope = limits.bytes_per_second * kTera;
  const double fp32 = limits.fp32_per_second * kTera;
  if (!(slope > 0.0 && fp32 > 0.0)) return std::nullopt;
  std::vector<std::pair<double, std::string>> ceilings = {{fp32, "fp32 "}};
  if (std::ranges::any_of(
          runs,
          [](const PlottedRun& item) { return item.run->stage.precision == Precision::kFp16; }) &&
      limits.fp16_per_second > 0.0) {
    ceilings.emplace_back(limits.fp16_per_second * kTera, "fp16 ");
  }
  const double roof = ceilings.back().first;
  Figure figure{.name = "roofline-" + network,
                .form = Figure::Form::kLines,
                .title = "Roofline",
                .caption = caption(runs.back()),
                .x = {.title = "operations for each byte that must be moved (log scale)"},
                .y = {.title = "TFLOP/s (log scale)", .low = fp32, .high = std::max(fp32, roof)},
                .panels = std::vector<Panel>(1)};
  std::vector<Series> layers;
  for (std::size_t i = 0; i < runs.back().run->layers.size(); ++i) {
    const LayerResult& of_layer = runs.back().run->layers[i];
    const double intensity = tera_operations(of_layer) / kTera /
                             static_cast<double>(compulsory_traffic(of_layer.shape).bytes());
    figure.x.include(intensity);
    Series& series = layers.emplace_back(Series{.label = "op " + std::to_string(i + 1),
                                                .colour = static_cast<int>(i),
                                                .symbol = static_cast<int>(i)});
    for (const PlottedRun& item : runs) {
      const LayerResult& layer = item.run->layers[i];
      const double speed = tera_operations(layer) / (spread_of(layer.op_ms).median * 1e-3);
      figure.y.include(speed);
      series.marks.push_back(
          {intensity, speed, speed, speed, short_name(item, runs) + "  " + three_digits(speed)});
    }
  }
  // Room for the labels beside the layers.
  figure.x.low /= 24.0;
  figure.x.high *= 9.0;
  figure.y.low /= 2.5;
  figure.y.high *= 2.0;
  const auto line = [&](const std::string& label, int colour, Series::Line kind, double x0,
                        double y0, double x1, double y1) {
    figure.panels[0].series.push_back(
        {label, colour, -1, kind, {{x0, y0, y0, y0}, {x1, y1, y1, y1}}});
  };
  const double left = std::max(figure.x.low, figure.y.low / slope);
  const std::string memory = "memory " + three_digits(slope) + " TB/s";
  line(memory, kInk, Series::Line::kThick, left, left * slope, roof / slope, roof);
  // Above the line, which rises to the right; below it are the labels of the points.
  constexpr double kWidth = 0.18;
  const double begin = figure.x.at(figure.x.share(left) + 0.01);
  const double height = figure.y.share(figure.x.at(figure.x.share(left) + kWidth) * slope) + 0.03;
  figure.labels.push_back({.x = begin,
                           .y = figure.y.at(height),
                           .column = begin,
                           .text_y = figure.y.at(height),
                           .colour = kInk,
                           .text = memory});
  std::vector<Label> names;
  for (const auto& [peak, name] : ceilings) {
    line(name + three_digits(peak), kInk, Series::Line::kThick, peak / slope, peak, figure.x.high,
         peak);
    names.push_back({.x = figure.x.high,
                     .y = peak,
                     .column = figure.x.at(1.01),
                     .colour = kInk,
                     .text = name + three_digits(peak)});
  }
  figure.add_labels(std::move(names));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Series& layer = layers[i];
    const double x = layer.marks.front().at;
    const double foot = figure.y.at(0.06);
    line("", layer.colour, Series::Line::kDotted, x, foot, x, std::min(x * slope, roof));
    // Between two layers there is no room for the labels of both.
    const bool to_the_left = i == 0 && layers.size() > 1;
    figure.labels.push_back({.x = x,
                             .y = foot,
                             .column = x,
                             .text_y = figure.y.at(0.03),
                             .to_the_left = !to_the_left,
                             .colour = layer.colour,
                             .text = layer.label});
    std::vector<Label> column;
    for (const Mark& mark : layer.marks) {
      column.push_back({.x = x,
                        .y = mark.value,
                        .column = figure.x.at(figure.x.share(x) + (to_the_left ? -0.04 : 0.04)),
                        .to_the_left = to_the_left,
                        .colour = layer.colour,
                        .text = mark.text});
    }
    figure.add_labels(std::move(column));
    figure.panels[0].series.push_back(std::move(layer));
  }
  return figure;
}

}  // namespace convlab::grader
