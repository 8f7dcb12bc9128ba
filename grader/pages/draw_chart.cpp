#include "grader/pages/draw_chart.hpp"

#include <algorithm>
#include <sstream>

#include "grader/plots/gnuplot.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

std::string program_of(const Chart& chart, const std::string& caption, PlotFormat format,
                       const std::filesystem::path& output) {
  std::ostringstream text;
  // Names along x stand upright below it; the key stands beside.
  int longest = 0;
  for (const std::string& name : chart.places) longest = std::max(longest, display_width(name));
  int longest_key = 0;
  for (const Chart::Line& line : chart.lines) {
    longest_key = std::max(longest_key, display_width(line.label));
  }
  constexpr double kSample = 110.0;  // of a line in the key
  constexpr int kShort = 3;
  const bool upright = longest > kShort;
  const double bottom = upright ? 84.0 + kCharacter * 14.0 * longest : 86.0;
  text << frame_text({.title = chart.title,
                      .caption = caption,
                      .x_title = chart.x_title,
                      .y_title = chart.y_title,
                      .left = 110.0,
                      .right = 24.0 + kSample + kCharacter * 14.0 * longest_key,
                      .bottom = bottom},
                     format, output)
       << "set datafile missing '?'\nset key at screen 0.985,screen 0.86 right top\n";
  if (chart.log_x) text << "set logscale x 10\n";
  if (chart.log_y) text << "set logscale y 10\n";
  if (!chart.places.empty()) {
    // As many names as have room.
    constexpr std::size_t kNames = 40;
    const std::size_t step = (chart.places.size() + kNames - 1) / kNames;
    text << "set xrange [-0.5:" << static_cast<double>(chart.places.size()) - 0.5 << "]\nset xtics "
         << (upright ? "rotate by 90 right (" : "(");
    for (std::size_t i = 0; i < chart.places.size(); i += step) {
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
  const bool many = chart.x.size() > 40;  // then not every point has its symbol
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    constexpr int kFirstSymbol = 4;
    text << (i == 0 ? "" : ", ") << "$data using 1:" << i + 2 << " with linespoints lw 2 lc rgb '"
         << kPlotColours[i % kPlotColours.size()] << "' dt " << i % 5 + 1
         << (many ? " pi " + std::to_string(chart.x.size() / 12) : "") << " pt "
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
