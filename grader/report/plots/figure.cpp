#include "grader/report/plots/figure.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "common/base/error.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

constexpr double kMostLabels = 24.0;  // of full size, in a column

std::string number_text(double value) {
  return value == std::floor(value) && std::abs(value) < 1e6 ? std::to_string(std::lround(value))
                                                             : three_digits(value);
}

}  // namespace

void Axis::include(double value) {
  low = high < low ? value : std::min(low, value);
  high = std::max(high, value);
}

double Axis::at(double share) const {
  return log ? low * std::pow(high / low, share) : low + (high - low) * share;
}

double Axis::share(double value) const {
  return log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

void Figure::add_labels(std::vector<Label> column) {
  std::ranges::stable_sort(column, [](const Label& a, const Label& b) { return a.y > b.y; });
  std::vector<double> heights;
  for (const Label& label : column) heights.push_back(y.share(label.y));
  heights = spread_labels(heights, 1.0 / std::max(kMostLabels, static_cast<double>(column.size())));
  for (std::size_t i = 0; i < column.size(); ++i) {
    column[i].text_y = y.at(heights[i]);
    labels.push_back(std::move(column[i]));
  }
}

void Figure::label_ends() {
  std::vector<Label> ends;
  for (const Series& series : panels.front().series) {
    if (series.marks.empty() || series.label.empty()) continue;
    const Mark& last = series.marks.back();
    ends.push_back({.x = last.at,
                    .y = last.value,
                    .column = x.at(1.04),
                    .colour = series.colour,
                    .text = series.label});
  }
  add_labels(std::move(ends));
}

Series& series_of(Panel& panel, const std::string& label) {
  const auto found = std::ranges::find(panel.series, label, &Series::label);
  if (found != panel.series.end()) return *found;
  const auto place = static_cast<int>(panel.series.size());
  return panel.series.emplace_back(Series{.label = label, .colour = place, .symbol = place});
}

// Push labels only upwards, then only downwards: the mean of both positions keeps all distances.
// Then the ends push back.
std::vector<double> spread_labels(const std::vector<double>& heights, double distance) {
  const auto upwards = [&](std::vector<double> from, double lowest) {
    for (std::size_t i = from.size(); i-- > 0; lowest = from[i] + distance) {
      from[i] = std::max(from[i], lowest);
    }
    return from;
  };
  const auto downwards = [&](std::vector<double> from, double highest) {
    for (double& height : from) {
      height = std::min(height, highest);
      highest = height - distance;
    }
    return from;
  };
  std::vector<double> middle = upwards(heights, -1.0);
  const std::vector<double> lower = downwards(heights, 2.0);
  for (std::size_t i = 0; i < middle.size(); ++i) middle[i] = (middle[i] + lower[i]) / 2;
  return downwards(upwards(middle, distance / 2), 1.0 - distance / 2);
}

Table table_of(const Figure& figure) {
  // By the row of the table: a name, or a number along x.
  const bool named = !figure.rows.empty();
  std::map<double, std::vector<std::string>> rows;
  Table table{.heading = {named ? figure.y.title : figure.x.title}};
  const auto add = [&](double row, const std::string& text) {
    auto& cells = rows[row];
    cells.resize(table.heading.size());
    cells.back() = text;
  };
  for (const Panel& panel : figure.panels) {
    for (const Series& series : panel.series) {
      table.heading.push_back(panel.title + (panel.title.empty() ? "" : " ") + series.label);
      for (const Mark& mark : series.marks) add(mark.at, number_text(mark.value));
    }
  }
  for (auto& [row, cells] : rows) {
    const auto tic = std::ranges::find(figure.x.tics, row, &std::pair<double, std::string>::first);
    cells[0] = named ? figure.rows.at(static_cast<std::size_t>(row))
               : tic != figure.x.tics.end() && !tic->second.empty() ? tic->second
                                                                    : number_text(row);
    cells.resize(table.heading.size());
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace convlab::grader
