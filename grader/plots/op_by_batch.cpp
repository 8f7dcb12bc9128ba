#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "grader/plots/all_pictures.hpp"
#include "grader/plots/ladder.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

struct Line {
  std::string name{};
  int colour = 0;                       // lines of a milestone share one
  std::map<int, PlottedPoint> times{};  // by batch
};

// Stages first, then floors and libraries.
std::vector<Line> lines_of(const std::vector<PlottedRun>& runs, const std::vector<Result>& results,
                           const std::string& network) {
  std::vector<Line> lines;
  const auto add = [&](const std::string& name, int colour, int batch, const PlottedPoint& time) {
    if (lines.empty() || lines.back().name != name) lines.push_back({name, colour});
    lines.back().times[batch] = time;
  };
  std::set<std::string> milestones;
  std::set<int> batches;
  for (const PlottedRun& item : runs) {
    milestones.insert(item.result->milestone);
    batches.insert(item.run->batch);
    add(short_name(item, runs), static_cast<int>(milestones.size()) - 1, item.run->batch,
        times_of(*item.run).sum);
  }
  std::map<std::string, Line> references;
  for (const int batch : batches) {
    for (const LadderLine& line : reference_lines(results, network, batch)) {
      const double time = line.milliseconds;
      Line& reference = references[line.label];
      reference.name = line.label;
      reference.colour = line.kind == "floor" ? kFloorColour : kLibraryColour;
      reference.times[batch] = {time, time, time};
    }
  }
  for (const auto& [label, line] : references) lines.push_back(line);
  return lines;
}

// A tic for each batch, with its number if there is room.
void add_tics(PlotData& data, const std::set<int>& batches, const LogRange& axis) {
  constexpr double kRoom = 0.08;
  double next = 2.0;
  for (auto batch = batches.rbegin(); batch != batches.rend(); ++batch) {
    const bool fits = next - axis.share(*batch) >= kRoom;
    if (fits) next = axis.share(*batch);
    data.add("tics", *batch, fits ? grouped(*batch) : "");
  }
}

}  // namespace

std::optional<Picture> op_by_batch(const std::vector<Result>& results, const std::string& network) {
  constexpr int kNameWidth = 44;
  const std::vector<PlottedRun> runs = plotted_runs(results, network);
  const std::vector<Line> lines = lines_of(runs, results, network);
  if (std::ranges::all_of(
          lines, [](const Line& line) { return line.colour < 0 || line.times.size() < 2; })) {
    return std::nullopt;
  }
  PlotData data({"points", "styles", "tics"});
  std::set<int> batches;
  LogRange times{.low = HUGE_VAL, .high = 0.0};
  std::map<int, int> in_colour;
  std::vector<PointLabel> labels;
  int longest = 0;
  for (const Line& line : lines) {
    for (const auto& [batch, time] : line.times) {
      batches.insert(batch);
      times.include(time.low);
      times.include(time.high);
      data.add("points", batch, time.median, time.low, time.high);
    }
    data.end_of_line("points");
    data.add("styles", line.colour, in_colour[line.colour]++);
    const std::string name = shortened(line.name, kNameWidth);
    longest = std::max(longest, display_width(name));
    const auto& [batch, time] = *line.times.rbegin();
    labels.push_back({static_cast<double>(batch), time.median, name, line.colour});
  }
  const LogRange x{.low = *batches.begin() / 1.15, .high = *batches.rbegin() * 1.08};
  const LogRange y{.low = times.low / 1.8, .high = times.high * 1.8};
  data.ranges(x, y);
  data.set("longest", longest);
  data.command(point_labels(std::move(labels), y, x.at(1.04), false));
  add_tics(data, batches, x);
  return Picture{.name = "op-by-batch-" + network,
                 .form = "op_by_batch",
                 .title = "Op time against batch",
                 .caption = caption_of(runs, network),
                 .x_title = "batch, images (log scale)",
                 .y_title = "op time, milliseconds (log scale)",
                 .data = std::move(data)};
}

}  // namespace convlab::grader
