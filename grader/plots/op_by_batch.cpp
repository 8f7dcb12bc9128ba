#include "grader/plots/op_by_batch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <sstream>

#include "grader/plots/ladder.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

constexpr int kBatchesLeft = 130;
constexpr int kBatchesTop = 90;
constexpr int kBatchesBottom = 86;
constexpr int kLeastHeight = 760;
constexpr double kBatchesLabelHeight = 22.0;
constexpr double kLeader = 38.0;  // from the last point to its label
constexpr int kNameWidth = 44;
// Filled symbols first, then the same shapes empty.
constexpr std::array<int, 10> kPointTypes = {7, 5, 9, 11, 13, 6, 4, 8, 10, 12};

using Line = OpByBatch::Line;

Line& line_named(std::vector<Line>& lines, const std::string& name, const std::string& family) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const Line& line) { return line.name == name; });
  if (found != lines.end()) return *found;
  return lines.emplace_back(Line{.name = name, .family = family, .places = {}});
}

class OpByBatchWriter {
 public:
  OpByBatchWriter(const OpByBatch& plot, PlotFormat format) : plot_(plot), format_(format) {
    int longest_name = 0;
    for (const auto* lines : {&plot.stages, &plot.references}) {
      for (const Line& line : *lines) {
        longest_name = std::max(longest_name, display_width(shortened(line.name, kNameWidth)));
        for (const OpByBatch::Place& place : line.places) {
          batches_.insert(place.batch);
          y_low_ = std::min(y_low_, place.time.low);
          y_high_ = std::max(y_high_, place.time.high);
        }
      }
    }
    right_ = 24.0 + kLeader + kNameCharacterWidth * longest_name;
    const auto labels = static_cast<double>(plot.stages.size() + plot.references.size());
    height_ = std::max(kLeastHeight, kBatchesTop + kBatchesBottom +
                                         static_cast<int>(1.5 * kBatchesLabelHeight * labels));
    x_low_ = *batches_.begin() / 1.15;
    x_high_ = *batches_.rbegin() * 1.08;
    y_low_ /= 1.8;
    y_high_ *= 1.8;
  }

  std::string write(const std::filesystem::path& output) {
    text_ << frame_text({.title = "Op time against batch",
                         .caption = plot_.caption,
                         .x_title = "batch, images (log scale)",
                         .y_title = "op time, milliseconds (log scale)",
                         .height = height_,
                         .left = kBatchesLeft,
                         .right = right_,
                         .top = kBatchesTop,
                         .bottom = kBatchesBottom},
                        format_, output)
          << "set logscale xy 10\nunset mxtics\nset xrange [" << x_low_ << ":" << x_high_
          << "]\nset yrange [" << y_low_ << ":" << y_high_ << "]\n";
    tics();
    std::vector<Label> labels;
    std::string commands;
    for (std::size_t i = 0; i < plot_.stages.size(); ++i) stage(i, labels, commands);
    for (std::size_t i = 0; i < plot_.references.size(); ++i) reference(i, labels, commands);
    write_labels(std::move(labels));
    text_ << "plot " << commands << "\n";
    return text_.str();
  }

 private:
  struct Label {
    OpByBatch::Place place;
    std::string text;
    std::string colour;
  };

  [[nodiscard]] double decades_per_pixel_x() const {
    return std::log10(x_high_ / x_low_) / (kPlotWidth - kBatchesLeft - right_);
  }
  [[nodiscard]] double decades_per_pixel_y() const {
    return std::log10(y_high_ / y_low_) / (height_ - kBatchesTop - kBatchesBottom);
  }

  // A tick for each batch, with its number if there is room.
  void tics() {
    constexpr double kRoom = 70.0;
    std::string list;
    double next = HUGE_VAL;
    for (auto batch = batches_.rbegin(); batch != batches_.rend(); ++batch) {
      const double at = std::log10(*batch);
      const bool fits = at + kRoom * decades_per_pixel_x() <= next;
      if (fits) next = at;
      list += (list.empty() ? "" : ", ") + quoted(fits ? grouped(*batch) : "") + " " +
              std::to_string(*batch);
    }
    text_ << "set xtics (" << list << ")\n";
  }

  void data(const std::string& name, const Line& line) {
    text_ << name << " << EOD\n";
    for (const auto& [batch, time] : line.places) {
      text_ << batch << " " << time.median << " " << time.low << " " << time.high << "\n";
    }
    text_ << "EOD\n";
  }

  void stage(std::size_t index, std::vector<Label>& labels, std::string& commands) {
    const Line& line = plot_.stages[index];
    std::set<std::string> families;  // their names are in order: m1, m2, …
    std::size_t in_family = 0;
    for (std::size_t i = 0; i < plot_.stages.size(); ++i) {
      families.insert(plot_.stages[i].family);
      if (i < index && plot_.stages[i].family == line.family) ++in_family;
    }
    const auto family =
        static_cast<std::size_t>(std::distance(families.begin(), families.find(line.family)));
    const char* colour = kPlotColours[family % kPlotColours.size()];
    const std::string name = "$stage" + std::to_string(index + 1);
    data(name, line);
    std::ostringstream how;
    how << (commands.empty() ? "" : ", ") << name << " using 1:2:3:4 with yerrorlines pt "
        << kPointTypes[in_family % kPointTypes.size()] << " ps " << 1.3 * point_scale(format_)
        << " lw 1.5 lc rgb '" << colour << "'";
    commands += how.str();
    labels.push_back({line.places.back(), line.name, colour});
  }

  void reference(std::size_t index, std::vector<Label>& labels, std::string& commands) {
    const Line& line = plot_.references[index];
    const bool floor = line.family == "floor";
    const char* colour = floor ? "#2b7a3d" : "#7a5b2b";
    const std::string name = "$reference" + std::to_string(index + 1);
    data(name, line);
    commands += (commands.empty() ? "" : ", ") + name + " using 1:2 with lines lw 2 dt " +
                (floor ? "2" : "3") + " lc rgb '" + colour + "'";
    labels.push_back({line.places.back(), line.name, colour});
  }

  // Labels stand at the right of the picture, each as near to the end of its line as possible.
  void write_labels(std::vector<Label> labels) {
    std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) {
      return a.place.time.median > b.place.time.median;
    });
    std::vector<double> heights;
    heights.reserve(labels.size());
    for (const Label& label : labels) heights.push_back(std::log10(label.place.time.median));
    heights = spread_labels(heights, kBatchesLabelHeight * decades_per_pixel_y());
    const auto beside = [&](double at, double pixels) {
      return at * std::pow(10.0, pixels * decades_per_pixel_x());
    };
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const Label& label = labels[i];
      const double height = std::pow(10.0, heights[i]);
      const double end = beside(x_high_, kLeader - 6.0);
      text_ << "set arrow from first " << beside(label.place.batch, 9.0) << ","
            << label.place.time.median << " to first " << end << "," << height
            << " nohead lc rgb '#bbbbbb' lw 1 back\n"
            << "set label " << quoted(shortened(label.text, kNameWidth)) << " at first "
            << beside(x_high_, kLeader) << "," << height << " left textcolor rgb '" << label.colour
            << "'\n";
    }
  }

  const OpByBatch& plot_;
  PlotFormat format_;
  std::set<int> batches_;
  double right_ = 0.0;
  int height_ = kLeastHeight;
  double x_low_ = 0.0;
  double x_high_ = 0.0;
  double y_low_ = HUGE_VAL;
  double y_high_ = 0.0;
  std::ostringstream text_;
};

}  // namespace

std::optional<OpByBatch> make_op_by_batch(const std::vector<Result>& results,
                                          const std::string& network) {
  const std::vector<PlottedRun> runs = plotted_runs(results, network);
  OpByBatch plot{.network = network, .caption = {}, .stages = {}, .references = {}};
  std::set<int> batches;
  for (const PlottedRun& item : runs) {
    batches.insert(item.run->batch);
    line_named(plot.stages, short_name(item, runs), item.result->milestone)
        .places.push_back({item.run->batch, times_of(*item.run).sum});
  }
  if (std::none_of(plot.stages.begin(), plot.stages.end(),
                   [](const Line& line) { return line.places.size() > 1; })) {
    return std::nullopt;
  }
  for (const int batch : batches) {
    for (const LadderPanel::Line& line : reference_lines(results, network, batch)) {
      const double time = line.milliseconds;
      line_named(plot.references, line.label, line.kind)
          .places.push_back({batch, {time, time, time}});
    }
  }
  plot.caption = caption_of(runs, network);
  return plot;
}

std::string gnuplot_text(const OpByBatch& plot, PlotFormat format,
                         const std::filesystem::path& output) {
  return OpByBatchWriter(plot, format).write(output);
}

std::vector<std::filesystem::path> draw(const OpByBatch& plot,
                                        const std::filesystem::path& folder) {
  return draw_plot(
      [&](PlotFormat format, const std::filesystem::path& output) {
        return gnuplot_text(plot, format, output);
      },
      "op-by-batch-" + plot.network, folder);
}

}  // namespace convlab::grader
