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

constexpr double kLeader = 38.0;  // from the last point to its label
constexpr int kNameWidth = 44;
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
    double least = HUGE_VAL;
    double most = 0.0;
    for (const auto* lines : {&plot.stages, &plot.references}) {
      for (const Line& line : *lines) {
        longest_name = std::max(longest_name, display_width(shortened(line.name, kNameWidth)));
        for (const OpByBatch::Place& place : line.places) {
          batches_.insert(place.batch);
          least = std::min(least, place.time.low);
          most = std::max(most, place.time.high);
        }
      }
    }
    axes_ = {.frame = {.title = "Op time against batch",
                       .caption = plot_.caption,
                       .x_title = "batch, images (log scale)",
                       .y_title = "op time, milliseconds (log scale)",
                       .left = 130.0},
             .x_low = *batches_.begin() / 1.15,
             .x_high = *batches_.rbegin() * 1.08,
             .y_low = least / 1.8,
             .y_high = most * 1.8};
    line_height_ = label_line(axes_.frame, plot.stages.size() + plot.references.size());
    axes_.frame.right = 24.0 + kLeader + kCharacter * label_font(line_height_) * longest_name;
  }

  std::string write(const std::filesystem::path& output) {
    text_ << frame_text(axes_.frame, format_, output)
          << "set logscale xy 10\nunset mxtics\nset xrange [" << axes_.x_low << ":" << axes_.x_high
          << "]\nset yrange [" << axes_.y_low << ":" << axes_.y_high << "]\n";
    tics();
    std::vector<PointLabel> labels;
    std::string commands;
    for (std::size_t i = 0; i < plot_.stages.size(); ++i) stage(i, labels, commands);
    for (std::size_t i = 0; i < plot_.references.size(); ++i) reference(i, labels, commands);
    text_ << point_labels(std::move(labels), axes_, axes_.beside(axes_.x_high, kLeader), false,
                          line_height_, format_)
          << "plot " << commands << "\n";
    return text_.str();
  }

 private:
  // A tick for each batch, with its number if there is room.
  void tics() {
    constexpr double kRoom = 70.0;
    std::string list;
    double next = HUGE_VAL;
    for (auto batch = batches_.rbegin(); batch != batches_.rend(); ++batch) {
      const bool fits = axes_.beside(*batch, kRoom) <= next;
      if (fits) next = *batch;
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

  void stage(std::size_t index, std::vector<PointLabel>& labels, std::string& commands) {
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
    labels.push_back(label_of(line, colour));
  }

  void reference(std::size_t index, std::vector<PointLabel>& labels, std::string& commands) {
    const Line& line = plot_.references[index];
    const bool floor = line.family == "floor";
    const char* colour = floor ? "#2b7a3d" : "#7a5b2b";
    const std::string name = "$reference" + std::to_string(index + 1);
    data(name, line);
    commands += (commands.empty() ? "" : ", ") + name + " using 1:2 with lines lw 2 dt " +
                (floor ? "2" : "3") + " lc rgb '" + colour + "'";
    labels.push_back(label_of(line, colour));
  }

  static PointLabel label_of(const Line& line, const char* colour) {
    const OpByBatch::Place& end = line.places.back();
    return {static_cast<double>(end.batch), end.time.median, shortened(line.name, kNameWidth),
            colour};
  }

  const OpByBatch& plot_;
  PlotFormat format_;
  std::set<int> batches_;
  LogAxes axes_;
  double line_height_ = 0.0;
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
