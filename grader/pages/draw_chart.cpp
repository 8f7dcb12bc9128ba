#include "grader/pages/draw_chart.hpp"

#include <algorithm>

#include "grader/plots/gnuplot.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

std::vector<std::filesystem::path> draw_chart(const Chart& chart, const std::string& caption,
                                              const std::string& stem,
                                              const std::filesystem::path& folder) {
  PlotData data({"labels", "places", "values"});
  int key_width = 0;
  int name_width = 0;
  for (const Chart::Line& line : chart.lines) {
    key_width = std::max(key_width, display_width(line.label));
    data.add("labels", line.label);
    for (std::size_t i = 0; i < chart.x.size(); ++i) {
      const std::optional<double>& value = line.values.at(i);
      if (value) data.add("values", chart.x[i], *value);
      if (!value) data.add("values", chart.x[i], "?");
    }
    data.end_of_line("values");
  }
  for (const std::string& place : chart.places) {
    name_width = std::max(name_width, display_width(place));
    data.add("places", place);
  }
  data.set("points", static_cast<double>(chart.x.size()));
  data.set("log_x", chart.log_x);
  data.set("log_y", chart.log_y);
  data.set("key_width", key_width);
  data.set("name_width", name_width);
  return draw({.name = stem,
               .form = "chart",
               .title = chart.title,
               .caption = caption,
               .x_title = chart.x_title,
               .y_title = chart.y_title,
               .data = std::move(data)},
              folder);
}

}  // namespace convlab::grader
