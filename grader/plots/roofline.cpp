#include "grader/plots/roofline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <tuple>

#include "common/device/device_limits.hpp"
#include "common/timing/statistics.hpp"

namespace convlab::grader {

namespace {

struct Run {
  const RunResult* run;
  const Result* result;
};

bool is_plotted(const RunResult& run, const std::string& network) {
  return run.network == network && run.device == Device::kGpu && run.verdict != Verdict::kFailed &&
         !run.layers.empty() &&
         std::all_of(run.layers.begin(), run.layers.end(),
                     [](const LayerResult& layer) { return !layer.op_ms.empty(); });
}

double operations(const ConvShape& shape) {
  return 2.0 * static_cast<double>(shape.multiply_adds());
}

void add_points(Roofline& roofline, const RunResult& run) {
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
    roofline.layers[i].points.push_back({run.stage.id, operations(layer.shape) / seconds});
  }
}

constexpr int kHeight = 760;
constexpr int kLeft = 96;
constexpr int kRight = 24;
constexpr int kTop = 90;
constexpr int kBottom = 76;
constexpr double kLabelHeight = 22.0;
constexpr std::array<const char*, 4> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7"};

std::string tera_text(double per_second) {
  std::array<char, 32> text{};
  const double tera = per_second * 1e-12;
  std::snprintf(text.data(), text.size(), "%.*f", tera < 10.0 ? 2 : 1, tera);
  return text.data();
}

/// Axes in decades, and their pixels.
struct Axes {
  double x_low, x_high, y_low, y_high;

  [[nodiscard]] double decades_per_pixel_y() const {
    return std::log10(y_high / y_low) / (kHeight - kTop - kBottom);
  }
  [[nodiscard]] double decades_per_pixel_x() const {
    return std::log10(x_high / x_low) / (kPlotWidth - kLeft - kRight);
  }
};

// Heights (log10) for labels that keep their distance and stay near their points, which are sorted
// from above.
std::vector<double> spread_labels(std::vector<double> heights, double distance) {
  for (int round = 0; round < 200; ++round) {
    for (std::size_t i = 0; i + 1 < heights.size(); ++i) {
      const double missing = distance - (heights[i] - heights[i + 1]);
      if (missing <= 0.0) continue;
      heights[i] += missing / 2;
      heights[i + 1] -= missing / 2;
    }
  }
  return heights;
}

class Writer {
 public:
  Writer(const Roofline& roofline, PlotFormat format)
      : roofline_(roofline),
        axes_(axes_of(roofline)),
        scale_(font_scale(format)),
        point_scale_(point_scale(format)) {}

  std::string write(PlotFormat format, const std::filesystem::path& output) {
    text_ << terminal_text(format, kHeight, output) << "unset key\nset border 3 lc rgb '#888888'\n"
          << "set tics nomirror out textcolor rgb '#333333'\n"
          << "set logscale xy 10\nset format '%g'\n"
          << "set lmargin at screen " << static_cast<double>(kLeft) / kPlotWidth << "\n"
          << "set rmargin at screen " << 1.0 - static_cast<double>(kRight) / kPlotWidth << "\n"
          << "set tmargin at screen " << 1.0 - static_cast<double>(kTop) / kHeight << "\n"
          << "set bmargin at screen " << static_cast<double>(kBottom) / kHeight << "\n"
          << "set xrange [" << axes_.x_low << ":" << axes_.x_high << "]\n"
          << "set yrange [" << axes_.y_low * 1e-12 << ":" << axes_.y_high * 1e-12 << "]\n"
          << "set xlabel 'operations for each byte that must be moved (log scale)' "
             "textcolor rgb '#333333'\n"
          << "set ylabel 'TFLOP/s (log scale)' textcolor rgb '#333333'\n"
          << "set grid lc rgb '#eeeeee' lt 1\n";
    screen_label("Roofline", 24.0, 28.0, 20.0, "#111111");
    screen_label(roofline_.caption, 24.0, 58.0, caption_size(roofline_.caption), "#666666");
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
    // Room for the labels beside the first and the last layer.
    return {smallest / 12.0, largest * 20.0, least / 2.5, most * 2.0};
  }

  void screen_label(const std::string& text, double x, double y, double size, const char* colour) {
    text_ << "set label " << quoted(text) << " at screen " << x / kPlotWidth << ",screen "
          << 1.0 - y / kHeight << " font '," << size * scale_ << "' textcolor rgb '" << colour
          << "'\n";
  }

  void line(double x0, double y0, double x1, double y1, const std::string& how) {
    text_ << "set arrow from first " << x0 << "," << y0 * 1e-12 << " to first " << x1 << ","
          << y1 * 1e-12 << " nohead " << how << "\n";
  }

  void ceiling(double peak, const std::string& name, const char* colour, bool dashed) {
    const double slope = roofline_.limits.bytes_per_second;
    const std::string how =
        std::string("lc rgb '") + colour + "' lw 2.5" + (dashed ? " dt 2" : "") + " back";
    line(peak / slope, peak, axes_.x_high, peak, how);
    text_ << "set label " << quoted(name + " " + tera_text(peak) + " TFLOP/s") << " at first "
          << axes_.x_high << "," << peak * 1e-12 << " right offset -0.5,0.7 textcolor rgb '"
          << colour << "'\n";
  }

  void roof() {
    const DeviceLimits& limits = roofline_.limits;
    const double peak = std::max(limits.fp32_per_second, limits.fp16_per_second);
    const double slope = limits.bytes_per_second;
    const double left = std::max(axes_.x_low, axes_.y_low / slope);
    line(left, left * slope, peak / slope, peak, "lc rgb '#333333' lw 2.5 back");
    ceiling(limits.fp32_per_second, "fp32", "#333333", false);
    if (limits.fp16_per_second > 0.0) ceiling(limits.fp16_per_second, "fp16", "#777777", true);
    // The name of the slope stands along it.
    const double angle = std::atan(axes_.decades_per_pixel_x() / axes_.decades_per_pixel_y()) *
                         180.0 / 3.14159265358979;
    const double x = left * std::pow(10.0, 60 * axes_.decades_per_pixel_x());
    text_ << "set label " << quoted("memory " + tera_text(slope) + " TB/s") << " at first " << x
          << "," << x * slope * 1e-12 * std::pow(10.0, 14 * axes_.decades_per_pixel_y())
          << " left rotate by " << angle << " textcolor rgb '#333333'\n";
  }

  void layer(std::size_t index) {
    const RooflineLayer& layer = roofline_.layers[index];
    const char* colour = kColours[index % kColours.size()];
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
          << colour << "' font ',16'\n";

    std::vector<RooflineLayer::Point> points = layer.points;
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
      return a.operations_per_second > b.operations_per_second;
    });
    std::vector<double> heights;
    for (const auto& point : points) heights.push_back(std::log10(point.operations_per_second));
    heights = spread_labels(heights, kLabelHeight * axes_.decades_per_pixel_y());
    // The labels of the first layer stand to its left, those of the others to the right.
    const double side = index == 0 ? -1.0 : 1.0;
    const auto beside = [&](double pixels) {
      return layer.intensity * std::pow(10.0, side * pixels * axes_.decades_per_pixel_x());
    };
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double speed = points[i].operations_per_second;
      const double height = std::pow(10.0, heights[i]);
      data_[index % data_.size()] << layer.intensity << " " << speed * 1e-12 << "\n";
      line(beside(9), speed, beside(38), height, "lc rgb '#bbbbbb' lw 1 back");
      text_ << "set label " << quoted(points[i].stage + "  " + tera_text(speed)) << " at first "
            << beside(44) << "," << height * 1e-12 << (index == 0 ? " right" : " left")
            << " textcolor rgb '" << colour << "'\n";
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
          << 1.3 * point_scale_ << " lc rgb '" << kColours[i] << "'";
      commands += how.str();
    }
    text_ << commands << "\n";
  }

  const Roofline& roofline_;
  Axes axes_;
  double scale_;
  double point_scale_;
  std::ostringstream text_;
  std::array<std::ostringstream, kColours.size()> data_;
};

}  // namespace

std::optional<Roofline> make_roofline(const std::vector<Result>& results,
                                      const std::string& network) {
  Roofline roofline{.network = network, .caption = {}, .limits = {}, .layers = {}};
  using Key = std::tuple<std::string, int, std::string>;  // the order of the ladder
  std::map<Key, Run> latest;
  for (const Result& result : results) {
    for (const RunResult& run : result.runs) {
      if (!is_plotted(run, network) || run.batch < roofline.batch) continue;
      if (run.batch > roofline.batch) latest.clear();
      roofline.batch = run.batch;
      latest[{result.milestone, run.stage.order, run.stage.id}] = {&run, &result};
    }
  }
  if (latest.empty()) return std::nullopt;
  const MachineInfo& machine = latest.rbegin()->second.result->machine;
  roofline.limits = with_measured(machine.promised, machine.measured);
  if (!(roofline.limits.bytes_per_second > 0.0 && roofline.limits.fp32_per_second > 0.0)) {
    return std::nullopt;
  }
  bool uses_tensor_cores = false;
  for (const auto& [key, item] : latest) {
    add_points(roofline, *item.run);
    uses_tensor_cores |= item.run->stage.precision == to_string(Precision::kFp16);
  }
  if (!uses_tensor_cores) roofline.limits.fp16_per_second = 0.0;
  constexpr std::size_t kDate = 10;
  const Result& last = *latest.rbegin()->second.result;
  roofline.caption =
      machine.gpu + ", driver " + machine.driver + " · network " + network + " · batch " +
      std::to_string(roofline.batch) +
      (machine.measured.bytes_per_second > 0.0 ? " · ceilings measured" : " · ceilings promised") +
      " · commit " + machine.commit + " · " + last.created.substr(0, kDate);
  return roofline;
}

std::string gnuplot_text(const Roofline& roofline, PlotFormat format,
                         const std::filesystem::path& output) {
  return Writer(roofline, format).write(format, output);
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
