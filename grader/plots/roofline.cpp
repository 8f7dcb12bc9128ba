#include "grader/plots/roofline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "common/device/device_limits.hpp"
#include "common/timing/statistics.hpp"
#include "grader/plots/plotted_runs.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

double operations(const ConvShape& shape) {
  return 2.0 * static_cast<double>(shape.multiply_adds());
}

void add_points(Roofline& roofline, const RunResult& run, const std::string& name) {
  if (roofline.layers.empty()) {
    for (const LayerResult& layer : run.layers) {
      const auto bytes = static_cast<double>(compulsory_traffic(layer.shape).bytes());
      roofline.layers.push_back({.intensity = operations(layer.shape) / bytes, .points = {}});
    }
  }
  if (run.layers.size() != roofline.layers.size()) return;
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    const LayerResult& layer = run.layers[i];
    const double seconds = spread_of(layer.op_ms).median * 1e-3;
    roofline.layers[i].points.push_back({name, operations(layer.shape) / seconds});
  }
}

constexpr double kTera = 1e-12;
constexpr double kLabelOffset = 44.0;  // from a point to its label

std::string tera_text(double tera) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", tera < 10.0 ? 2 : 1, tera);
  return text.data();
}

// Speeds are in TFLOP/s from here on, and the bandwidth in TB/s.
class RooflineWriter {
 public:
  RooflineWriter(const Roofline& roofline, PlotFormat format)
      : roofline_(roofline),
        format_(format),
        slope_(roofline.limits.bytes_per_second * kTera),
        fp32_(roofline.limits.fp32_per_second * kTera),
        fp16_(roofline.limits.fp16_per_second * kTera) {
    double least = fp32_;
    double smallest = HUGE_VAL;
    double largest = 0.0;
    std::size_t labels = 0;
    for (const RooflineLayer& layer : roofline.layers) {
      smallest = std::min(smallest, layer.intensity);
      largest = std::max(largest, layer.intensity);
      labels = std::max(labels, layer.points.size());
      for (const RooflineLayer::Point& point : layer.points) {
        least = std::min(least, point.operations_per_second * kTera);
      }
    }
    // Room for the name of the slope, and for the labels beside the last layer.
    axes_ = {.frame = {.title = "Roofline",
                       .caption = roofline_.caption,
                       .x_title = "operations for each byte that must be moved (log scale)",
                       .y_title = "TFLOP/s (log scale)",
                       .right = 130.0},  // the names of the ceilings
             .x_low = smallest / 14.0,
             .x_high = largest * 9.0,
             .y_low = least / 2.5,
             .y_high = std::max(fp32_, fp16_) * 2.0};
    line_height_ = label_line(axes_.frame, labels + 2);  // the names of the layers stand below
  }

  std::string write(const std::filesystem::path& output) {
    text_ << frame_text(axes_.frame, format_, output) << "set logscale xy 10\nset xrange ["
          << axes_.x_low << ":" << axes_.x_high << "]\nset yrange [" << axes_.y_low << ":"
          << axes_.y_high << "]\n";
    roof();
    std::string commands;
    for (std::size_t i = 0; i < roofline_.layers.size(); ++i) layer(i, commands);
    text_ << "plot " << commands << "\n";
    return text_.str();
  }

 private:
  void line(double x0, double y0, double x1, double y1, const std::string& how) {
    text_ << "set arrow from first " << x0 << "," << y0 << " to first " << x1 << "," << y1
          << " nohead " << how << " back\n";
  }

  // Its name stands in the margin, where no stage has a label; `height` is near its own.
  void ceiling(double peak, double height, const std::string& name, const std::string& look) {
    line(peak / slope_, peak, axes_.x_high, peak, "lc rgb " + look);
    text_ << "set label " << quoted(name + " " + tera_text(peak)) << " at graph 1,first " << height
          << " left offset 0.7,0 textcolor rgb '#333333'\n";
  }

  void roof() {
    const double peak = std::max(fp32_, fp16_);
    const double left = std::max(axes_.x_low, axes_.y_low / slope_);
    line(left, left * slope_, peak / slope_, peak, "lc rgb '#333333' lw 2.5");
    ceiling(fp32_, fp32_, "fp32", "'#333333' lw 2.5");
    if (fp16_ > 0.0) {
      constexpr double kLine = 22.0;
      const double height = std::max(fp16_, axes_.above(fp32_, kLine));
      ceiling(fp16_, height, "fp16", "'#777777' lw 2.5 dt 2");
    }
    // The name of the slope stands along it.
    const double angle =
        std::atan2(std::log(axes_.x_high / axes_.x_low) * axes_.frame.inner_height(),
                   std::log(axes_.y_high / axes_.y_low) * axes_.frame.inner_width());
    const double x = axes_.beside(left, 10.0);
    text_ << "set label " << quoted("memory " + tera_text(slope_) + " TB/s") << " at first " << x
          << "," << axes_.above(x * slope_, 14.0) << " left rotate by "
          << angle * 180.0 / 3.14159265358979 << " textcolor rgb '#333333'\n";
  }

  // Whether the labels of the first layer end before the second layer.
  [[nodiscard]] bool has_room_on_the_right(const std::vector<PointLabel>& labels) const {
    if (roofline_.layers.size() < 2) return true;
    const double first = roofline_.layers[0].intensity;
    const double second = roofline_.layers[1].intensity;
    return second < first ||
           std::all_of(labels.begin(), labels.end(), [&](const PointLabel& label) {
             const double width = kCharacter * label_font(line_height_) * display_width(label.text);
             return axes_.beside(first, kLabelOffset + width) < second;
           });
  }

  void layer(std::size_t index, std::string& commands) {
    const RooflineLayer& layer = roofline_.layers[index];
    const std::string colour = kPlotColours[index % kPlotColours.size()];
    const double roof = std::min(layer.intensity * slope_, std::max(fp32_, fp16_));
    constexpr double kNameHeight = 34.0;
    line(layer.intensity, axes_.above(axes_.y_low, kNameHeight), layer.intensity, roof,
         "lc rgb '" + colour + "' lw 1 dt 3");
    text_ << "set label " << quoted("op " + std::to_string(index + 1)) << " at first "
          << layer.intensity << "," << axes_.y_low << " center offset 0,0.8 textcolor rgb '"
          << colour << "' font '," << 16 * font_scale(format_) << "'\n";
    std::vector<PointLabel> labels;
    const std::string name = "$layer" + std::to_string(index + 1);
    std::ostringstream data;
    for (const RooflineLayer::Point& point : layer.points) {
      const double speed = point.operations_per_second * kTera;
      data << layer.intensity << " " << speed << "\n";
      labels.push_back({layer.intensity, speed, point.stage + "  " + tera_text(speed), colour});
    }
    const bool to_the_left = index == 0 && !has_room_on_the_right(labels);
    text_ << point_labels(std::move(labels), axes_,
                          axes_.beside(layer.intensity, to_the_left ? -kLabelOffset : kLabelOffset),
                          to_the_left, line_height_, format_)
          << name << " << EOD\n"
          << data.str() << "EOD\n";
    std::ostringstream how;
    how << (commands.empty() ? "" : ", ") << name << " using 1:2 with points pt "
        << kPointTypes[index % kPointTypes.size()] << " ps " << 1.1 * point_scale(format_)
        << " lc rgb '" << colour << "'";
    commands += how.str();
  }

  const Roofline& roofline_;
  PlotFormat format_;
  double slope_;
  double fp32_;
  double fp16_;
  LogAxes axes_;
  double line_height_ = 0.0;
  std::ostringstream text_;
};

}  // namespace

std::optional<Roofline> make_roofline(const std::vector<Result>& results,
                                      const std::string& network) {
  Roofline roofline{.network = network, .caption = {}, .limits = {}, .layers = {}};
  std::vector<PlottedRun> runs = plotted_runs(results, network);
  std::erase_if(runs, [](const PlottedRun& item) { return item.run->device != Device::kGpu; });
  if (runs.empty()) return std::nullopt;
  roofline.batch = runs.back().run->batch;
  std::erase_if(runs, [&](const PlottedRun& item) { return item.run->batch < roofline.batch; });
  const MachineInfo& machine = runs.back().result->machine;
  roofline.limits = with_measured(machine.promised, machine.measured);
  if (!(roofline.limits.bytes_per_second > 0.0 && roofline.limits.fp32_per_second > 0.0)) {
    return std::nullopt;
  }
  bool uses_tensor_cores = false;
  for (const PlottedRun& item : runs) {
    add_points(roofline, *item.run, short_name(item, runs));
    uses_tensor_cores |= item.run->stage.precision == Precision::kFp16;
  }
  if (!uses_tensor_cores) roofline.limits.fp16_per_second = 0.0;
  constexpr std::size_t kDate = 10;
  const Result& last = *runs.back().result;
  roofline.caption =
      machine.gpu + ", driver " + machine.driver + " · network " + network + " · batch " +
      std::to_string(roofline.batch) +
      (machine.measured.bytes_per_second > 0.0 ? " · ceilings measured" : " · ceilings promised") +
      " · commit " + machine.commit + " · " + last.created.substr(0, kDate);
  return roofline;
}

std::string gnuplot_text(const Roofline& roofline, PlotFormat format,
                         const std::filesystem::path& output) {
  return RooflineWriter(roofline, format).write(output);
}

std::vector<std::filesystem::path> draw(const Roofline& roofline,
                                        const std::filesystem::path& folder) {
  return draw_plot(
      [&](PlotFormat format, const std::filesystem::path& output) {
        return gnuplot_text(roofline, format, output);
      },
      "roofline-" + roofline.network, folder);
}

}  // namespace convlab::grader
