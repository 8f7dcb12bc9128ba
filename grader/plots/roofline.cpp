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

constexpr int kRooflineLeft = 96;
constexpr int kRooflineRight = 130;  // the names of the ceilings
constexpr int kRooflineTop = 90;
constexpr int kRooflineBottom = 86;
constexpr double kRooflineLabelHeight = 22.0;
constexpr double kLabelOffset = 44.0;  // from a point to its label

std::string tera_text(double per_second) {
  std::array<char, 32> text{};
  const double tera = per_second * 1e-12;
  std::snprintf(text.data(), text.size(), "%.*f", tera < 10.0 ? 2 : 1, tera);
  return text.data();
}

/// Axes in decades, and their pixels.
struct Axes {
  double x_low, x_high, y_low, y_high;
  int height;  // of the picture, in pixels

  [[nodiscard]] double decades_per_pixel_y() const {
    return std::log10(y_high / y_low) / (height - kRooflineTop - kRooflineBottom);
  }
  [[nodiscard]] double decades_per_pixel_x() const {
    return std::log10(x_high / x_low) / (kPlotWidth - kRooflineLeft - kRooflineRight);
  }
};

class RooflineWriter {
 public:
  RooflineWriter(const Roofline& roofline, PlotFormat format)
      : roofline_(roofline),
        axes_(axes_of(roofline)),
        scale_(font_scale(format)),
        point_scale_(point_scale(format)) {}

  std::string write(PlotFormat format, const std::filesystem::path& output) {
    text_ << frame_text({.title = "Roofline",
                         .caption = roofline_.caption,
                         .x_title = "operations for each byte that must be moved (log scale)",
                         .y_title = "TFLOP/s (log scale)",
                         .height = axes_.height,
                         .left = kRooflineLeft,
                         .right = kRooflineRight,
                         .top = kRooflineTop,
                         .bottom = kRooflineBottom},
                        format, output)
          << "set logscale xy 10\nset xrange [" << axes_.x_low << ":" << axes_.x_high
          << "]\nset yrange [" << axes_.y_low * 1e-12 << ":" << axes_.y_high * 1e-12 << "]\n";
    roof();
    for (std::size_t i = 0; i < roofline_.layers.size(); ++i) layer(i);
    plot();
    return text_.str();
  }

 private:
  static Axes axes_of(const Roofline& roofline) {
    double least = roofline.limits.fp32_per_second;
    double smallest = HUGE_VAL;
    double largest = 0.0;
    for (const RooflineLayer& layer : roofline.layers) {
      smallest = std::min(smallest, layer.intensity);
      largest = std::max(largest, layer.intensity);
      for (const RooflineLayer::Point& point : layer.points) {
        least = std::min(least, point.operations_per_second);
      }
    }
    const double most = std::max(roofline.limits.fp32_per_second, roofline.limits.fp16_per_second);
    // Every stage has a label of its own, and none stands on another.
    std::size_t labels = 0;
    for (const RooflineLayer& layer : roofline.layers) {
      labels = std::max(labels, layer.points.size());
    }
    constexpr int kLeast = 760;
    const int height = std::max(
        kLeast, kRooflineTop + kRooflineBottom +
                    static_cast<int>(kRooflineLabelHeight * static_cast<double>(labels + 4)));
    // Room for the name of the slope, and for the labels beside the last layer.
    return {smallest / 14.0, largest * 9.0, least / 2.5, most * 2.0, height};
  }

  void line(double x0, double y0, double x1, double y1, const std::string& how) {
    text_ << "set arrow from first " << x0 << "," << y0 * 1e-12 << " to first " << x1 << ","
          << y1 * 1e-12 << " nohead " << how << "\n";
  }

  // Its name stands in the margin, where no stage has a label; `height` is near its own.
  void ceiling(double peak, double height, const std::string& name, const char* colour,
               bool dashed) {
    const double slope = roofline_.limits.bytes_per_second;
    const std::string how =
        std::string("lc rgb '") + colour + "' lw 2.5" + (dashed ? " dt 2" : "") + " back";
    line(peak / slope, peak, axes_.x_high, peak, how);
    text_ << "set label " << quoted(name + " " + tera_text(peak)) << " at graph 1,first "
          << height * 1e-12 << " left offset 0.7,0 textcolor rgb '" << colour << "'\n";
  }

  void roof() {
    const DeviceLimits& limits = roofline_.limits;
    const double peak = std::max(limits.fp32_per_second, limits.fp16_per_second);
    const double slope = limits.bytes_per_second;
    const double left = std::max(axes_.x_low, axes_.y_low / slope);
    line(left, left * slope, peak / slope, peak, "lc rgb '#333333' lw 2.5 back");
    const bool has_fp16 = limits.fp16_per_second > 0.0;
    const double fp16 = has_fp16 ? limits.fp16_per_second : peak * 100.0;
    const std::vector<double> heights =
        spread_labels({std::log10(fp16), std::log10(limits.fp32_per_second)},
                      kRooflineLabelHeight * axes_.decades_per_pixel_y());
    ceiling(limits.fp32_per_second, std::pow(10.0, heights[1]), "fp32", "#333333", false);
    if (has_fp16) ceiling(fp16, std::pow(10.0, heights[0]), "fp16", "#777777", true);
    // The name of the slope stands along it.
    const double angle = std::atan(axes_.decades_per_pixel_x() / axes_.decades_per_pixel_y()) *
                         180.0 / 3.14159265358979;
    const double x = left * std::pow(10.0, 10 * axes_.decades_per_pixel_x());
    text_ << "set label " << quoted("memory " + tera_text(slope) + " TB/s") << " at first " << x
          << "," << x * slope * 1e-12 * std::pow(10.0, 14 * axes_.decades_per_pixel_y())
          << " left rotate by " << angle << " textcolor rgb '#333333'\n";
  }

  static std::string label(const RooflineLayer::Point& point) {
    return point.stage + "  " + tera_text(point.operations_per_second);
  }

  // Whether the labels of the first layer end before the second layer.
  [[nodiscard]] bool has_room_on_the_right(const std::vector<RooflineLayer::Point>& points) const {
    if (roofline_.layers.size() < 2) return true;
    const double gap = std::log10(roofline_.layers[1].intensity / roofline_.layers[0].intensity) /
                       axes_.decades_per_pixel_x();
    return std::all_of(points.begin(), points.end(), [&](const auto& point) {
      const double end = kLabelOffset + kNameCharacterWidth * display_width(label(point));
      return gap < 0.0 || end < gap;
    });
  }

  void layer(std::size_t index) {
    const RooflineLayer& layer = roofline_.layers[index];
    const char* colour = kPlotColours[index % kPlotColours.size()];
    const double roof =
        std::min(layer.intensity * roofline_.limits.bytes_per_second,
                 std::max(roofline_.limits.fp32_per_second, roofline_.limits.fp16_per_second));
    constexpr double kNameHeight = 34.0;
    const double above_name =
        axes_.y_low * std::pow(10.0, kNameHeight * axes_.decades_per_pixel_y());
    line(layer.intensity, above_name, layer.intensity, roof,
         std::string("lc rgb '") + colour + "' lw 1 dt 3 back");
    text_ << "set label " << quoted("op " + std::to_string(index + 1)) << " at first "
          << layer.intensity << "," << axes_.y_low * 1e-12 << " center offset 0,0.8 textcolor rgb '"
          << colour << "' font '," << 16 * scale_ << "'\n";

    std::vector<RooflineLayer::Point> points = layer.points;
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
      return a.operations_per_second > b.operations_per_second;
    });
    std::vector<double> heights;
    heights.reserve(points.size());
    for (const auto& point : points) heights.push_back(std::log10(point.operations_per_second));
    heights = spread_labels(heights, kRooflineLabelHeight * axes_.decades_per_pixel_y());
    const bool to_the_left = index == 0 && !has_room_on_the_right(points);
    const double side = to_the_left ? -1.0 : 1.0;
    const auto beside = [&](double pixels) {
      return layer.intensity * std::pow(10.0, side * pixels * axes_.decades_per_pixel_x());
    };
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double speed = points[i].operations_per_second;
      const double height = std::pow(10.0, heights[i]);
      data_[index % data_.size()] << layer.intensity << " " << speed * 1e-12 << "\n";
      line(beside(9), speed, beside(38), height, "lc rgb '#bbbbbb' lw 1 back");
      text_ << "set label " << quoted(label(points[i])) << " at first " << beside(kLabelOffset)
            << "," << height * 1e-12 << (to_the_left ? " right" : " left")
            << " front boxed textcolor rgb '" << colour << "'\n";
    }
  }

  void plot() {
    std::string commands;
    for (std::size_t i = 0; i < data_.size(); ++i) {
      if (data_[i].str().empty()) continue;
      const std::string name = "$layer" + std::to_string(i + 1);
      text_ << name << " << EOD\n" << data_[i].str() << "EOD\n";
      std::ostringstream how;
      how << (commands.empty() ? "plot " : ", ") << name << " using 1:2 with points pt 7 ps "
          << 1.3 * point_scale_ << " lc rgb '" << kPlotColours[i] << "'";
      commands += how.str();
    }
    text_ << commands << "\n";
  }

  const Roofline& roofline_;
  Axes axes_;
  double scale_;
  double point_scale_;
  std::ostringstream text_;
  std::array<std::ostringstream, kPlotColours.size()> data_;
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
  return RooflineWriter(roofline, format).write(format, output);
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
