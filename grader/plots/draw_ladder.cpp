// The pictures of a ladder: as many slides as its rows and panels need.

#include <algorithm>
#include <cmath>

#include "common/error/error.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/plots/ladder.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

// Limits of one picture: more would be unreadable.
constexpr std::size_t kMostRows = 48;
constexpr std::size_t kMostPanels = 4;
constexpr std::size_t kMostSlides = 20;
constexpr int kTitleWidth = 64;

// The rows of [row, …) that have a cell in the panels [panel, last).
std::vector<const LadderRow*> rows_of(const Ladder& ladder, std::size_t row, std::size_t panel,
                                      std::size_t last) {
  std::vector<const LadderRow*> rows;
  for (std::size_t i = row; i < std::min(row + kMostRows, ladder.rows.size()); ++i) {
    const auto cell = ladder.rows[i].cells.lower_bound(panel);
    if (cell != ladder.rows[i].cells.end() && cell->first < last) rows.push_back(&ladder.rows[i]);
  }
  return rows;
}

// What ladder.gp draws.
PlotData data_of(const Ladder& ladder, const std::vector<const LadderRow*>& rows, std::size_t panel,
                 std::size_t last) {
  PlotData data({"batches", "names", "lines", "points", "bars"});
  LogRange axis{.low = HUGE_VAL, .high = 0.0};
  if (ladder.origin > 0.0) axis.include(ladder.origin);
  std::size_t references = 0;
  for (std::size_t at = panel; at < last; ++at) {
    const LadderPanel& each = ladder.panels[at];
    data.add("batches", "batch " + grouped(each.batch));
    references = std::max(references, each.lines.size());
    for (std::size_t i = 0; i < each.lines.size(); ++i) {
      const LadderLine& line = each.lines[i];
      axis.include(line.milliseconds);
      data.add("lines", at - panel, i, line.milliseconds,
               line.kind == "floor" ? kFloorColour : kLibraryColour,
               line.label + " " + three_digits(line.milliseconds));
    }
  }
  std::size_t layers = 0;
  int longest = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string title = shortened(rows[i]->title, kTitleWidth);
    longest = std::max(longest, display_width(title));
    data.add("names", title);
    for (const auto& [at, cell] : rows[i]->cells) {
      if (at < panel || at >= last) continue;
      double begin = cell.sum.median;
      double end = cell.sum.high;
      const auto point = [&, panel_index = at - panel](std::size_t series,
                                                       const PlottedPoint& place) {
        axis.include(place.low);
        axis.include(place.high);
        begin = std::min(begin, place.median);
        end = std::max(end, place.high);
        data.add("points", panel_index, i + 1, series, place.median, place.low, place.high);
      };
      for (std::size_t layer = 0; layer < cell.layers.size(); ++layer) {
        point(layer + 1, cell.layers[layer]);
      }
      if (cell.layers.size() != 1) point(0, cell.sum);
      layers = std::max(layers, cell.layers.size());
      data.add("bars", at - panel, i + 1, ladder.origin > 0.0 ? ladder.origin : begin,
               cell.sum.median, end, cell.text);
    }
  }
  data.set("references", static_cast<double>(references));
  data.set("layers", static_cast<double>(layers));
  data.set("longest", longest);
  data.set("origin", ladder.origin);
  data.set("low", axis.low);
  data.set("high", axis.high);
  return data;
}

}  // namespace

std::vector<Picture> pictures_of(const Ladder& ladder) {
  std::vector<Picture> slides;
  for (std::size_t panel = 0; panel < ladder.panels.size(); panel += kMostPanels) {
    const std::size_t last = std::min(panel + kMostPanels, ladder.panels.size());
    for (std::size_t row = 0; row < ladder.rows.size(); row += kMostRows) {
      const auto rows = rows_of(ladder, row, panel, last);
      if (rows.empty()) continue;
      const std::string number = slides.empty() ? "" : "-" + std::to_string(slides.size() + 1);
      slides.push_back({.name = ladder.file_stem + number,
                        .form = "ladder",
                        .title = ladder.title,
                        .caption = ladder.caption,
                        .x_title = ladder.axis,
                        .data = data_of(ladder, rows, panel, last)});
    }
  }
  if (slides.size() > kMostSlides) {
    throw UsageError("This would be " + std::to_string(slides.size()) +
                     " pictures, and nobody looks at more than " + std::to_string(kMostSlides) +
                     "; name fewer results.");
  }
  return slides;
}

}  // namespace convlab::grader
