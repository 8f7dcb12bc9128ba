#include "grader/pages/draw_chart.hpp"

#include <sstream>

#include "grader/plots/gnuplot.hpp"

namespace convlab::grader {

namespace {

constexpr int kHeight = 720;

std::string program_of(const Chart& chart, const std::string& caption, PlotFormat format,
                       const std::filesystem::path& output) {
  std::ostringstream text;
  text << terminal_text(format, kHeight, output) << heading(chart.title, caption, format, kHeight)
       << "set tmargin at screen 0.86\nset border 3 lc rgb '#888888'\nset datafile missing '?'\n"
       << "set tics nomirror out textcolor rgb '#333333'\nset grid lc rgb '#e4e4e4' lt 1\n"
       << "set key right outside\nset format '%g'\nset xlabel " << quoted(chart.x_title)
       << "\nset ylabel " << quoted(chart.y_title) << "\n";
  if (chart.log_x) text << "set logscale x 10\n";
  if (chart.log_y) text << "set logscale y 10\n";
  if (!chart.places.empty()) {
    text << "set xrange [-0.5:" << static_cast<double>(chart.places.size()) - 0.5
         << "]\nset xtics rotate by 60 right (";
    for (std::size_t i = 0; i < chart.places.size(); ++i) {
      text << (i == 0 ? "" : ", ") << quoted(chart.places[i]) << " " << i;
    }
    text << ")\n";
  }
  text << "$data << EOD\n";
  for (std::size_t i = 0; i < chart.x.size(); ++i) {
    text << chart.x[i];
    for (const Chart::Line& line : chart.lines) {
      text << " ";
      if (line.values.at(i)) {
        text << *line.values[i];
      } else {
        text << "?";
      }
    }
    text << "\n";
  }
  text << "EOD\nplot ";
  // Colour, dash and symbol differ, so that the lines can be told apart in grey, too.
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    constexpr int kFirstSymbol = 4;
    text << (i == 0 ? "" : ", ") << "$data using 1:" << i + 2 << " with linespoints lw 2 lc rgb '"
         << kPlotColours[i % kPlotColours.size()] << "' dt " << i % 5 + 1 << " pt "
         << kFirstSymbol + i % 10 << " ps " << point_scale(format) << " title "
         << quoted(chart.lines[i].label);
  }
  text << "\n";
  return text.str();
}

}  // namespace

std::vector<std::filesystem::path> draw_chart(const Chart& chart, const std::string& caption,
                                              const std::string& stem,
                                              const std::filesystem::path& folder) {
  return draw_plot(
      [&](PlotFormat format, const std::filesystem::path& output) {
        return program_of(chart, caption, format, output);
      },
      stem, folder);
}

}  // namespace convlab::grader
