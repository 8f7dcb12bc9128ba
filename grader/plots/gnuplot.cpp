#include "grader/plots/gnuplot.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <future>
#include <sstream>

#include "common/error/error.hpp"
#include "common/file/whole_file.hpp"
#include "common/network/preset.hpp"
#include "common/process/run_process.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

struct Format {
  const char* ending;
  const char* terminal;
};

// Sizes of letters are those of the PNG in all of them; `dot` does the same for points.
constexpr std::array<Format, 3> kFormats = {{
    {".svg",
     "set terminal svg noenhanced size 1280,720 dynamic standalone background rgb 'white' "
     "font 'DejaVu Sans,14' fontscale 1.3333\ndot = 0.6\n"},
    {".pdf",
     "set terminal pdfcairo noenhanced size 12.8in,7.2in font 'DejaVu Sans,14' fontscale 0.72 "
     "linewidth 0.72\ndot = 0.72\n"},
    {".png", "set terminal pngcairo noenhanced size 1280,720 font 'DejaVu Sans,14'\ndot = 1\n"},
}};

// The picture comes through a pipe, because gnuplot does not notice a full disk.
FinishedProcess run_gnuplot(const std::string& program) {
  return run_process({.words = {"gnuplot", "-"}, .input = program});
}

// gnuplot first quotes the line that it does not understand, and names the error last.
std::string complaint_of(const FinishedProcess& run) {
  std::string text = run.errors;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.pop_back();
  }
  return text.empty() ? "it drew nothing" : text.substr(text.find_last_of('\n') + 1);
}

}  // namespace

PlotData::PlotData(const std::vector<std::string>& blocks) {
  for (const std::string& block : blocks) blocks_[block];
}

void PlotData::set(const std::string& variable, double value) {
  command(variable + " = " + cell(value));
}

void PlotData::ranges(const LogRange& x, const LogRange& y) {
  set("x_low", x.low);
  set("x_high", x.high);
  set("y_low", y.low);
  set("y_high", y.high);
  command("set logscale xy 10\nset xrange [x_low:x_high]\nset yrange [y_low:y_high]");
}

std::string PlotData::cell(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", number);
  return text.data();
}

std::string PlotData::cell(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f' || c == '\\') c = ' ';
  }
  // A cell that begins with a quote would end only with the next one.
  const auto first = text.find_first_not_of(' ');
  if (first != std::string::npos && text[first] == '"') text[first] = '\'';
  return text;
}

void PlotData::add_row(const std::string& block, const std::vector<std::string>& cells) {
  std::string row;
  for (const std::string& each : cells) row += (row.empty() ? "" : "\t") + each;
  blocks_.at(block) += row + "\n";
}

std::string PlotData::text() const {
  std::string text = commands_;
  for (const auto& [name, rows] : blocks_) {
    text += "$" + name + " << end_of_data\n" + rows + "end_of_data\n";
  }
  return text;
}

std::string program_of(const Picture& picture) {
  // network_folder() is ROOT/common/network.
  const auto templates = network_folder().parent_path().parent_path() / "grader" / "plots";
  return "title = " + quoted(picture.title) + "\ncaption = " + quoted(picture.caption) +
         "\nx_title = " + quoted(picture.x_title) + "\ny_title = " + quoted(picture.y_title) +
         "\n" + read_text(templates / "look.gp") + picture.data.text() +
         read_text(templates / (picture.form + ".gp"));
}

std::vector<std::filesystem::path> draw(const Picture& picture,
                                        const std::filesystem::path& folder) {
  std::string stem = picture.name;
  for (char& c : stem) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') c = '-';
  }
  const std::string program = program_of(picture);
  std::vector<std::future<FinishedProcess>> drawings;
  for (const Format& format : kFormats) {
    drawings.push_back(std::async(std::launch::async, run_gnuplot, format.terminal + program));
  }
  std::vector<std::filesystem::path> files;
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    const FinishedProcess run = drawings[i].get();
    if (!run.succeeded() || run.output.empty()) {
      throw EnvironmentError("gnuplot failed: " + complaint_of(run) +
                             ". To install it: common/setup/lab setup");
    }
    files.push_back(folder / (stem + kFormats[i].ending));
    write_atomically(files.back(), run.output);
  }
  return files;
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    const bool is_control = static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    // gnuplot 5.4 does not understand a doubled quote at the beginning of a string.
    result += c == '\'' ? "’" : std::string(1, is_control ? ' ' : c);
  }
  return result + "'";
}

std::string shortened(const std::string& text, int width) {
  if (display_width(text) <= width) return text;
  std::string result;
  int taken = 0;
  for (const char c : text) {
    const bool begins_character = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (begins_character && ++taken == width) break;
    result += c;
  }
  return result + "…";
}

std::string grouped(int number) {
  std::string text = std::to_string(number);
  if (text.size() > 4) text.insert(text.size() - 3, 1, ' ');
  return text;
}

double LogRange::at(double share) const {
  return low * std::pow(high / low, share);
}

double LogRange::share(double value) const {
  return std::log(value / low) / std::log(high / low);
}

void LogRange::include(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
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

std::string point_labels(std::vector<PointLabel> labels, const LogRange& y_axis, double column,
                         bool to_the_left) {
  std::ranges::stable_sort(labels,
                           [](const PointLabel& a, const PointLabel& b) { return a.y > b.y; });
  std::vector<double> heights;
  for (const PointLabel& label : labels) heights.push_back(y_axis.share(label.y));
  constexpr double kMostLines = 24.0;  // of full size
  heights = spread_labels(heights, 1.0 / std::max(kMostLines, static_cast<double>(labels.size())));
  std::ostringstream text;
  text << "label_font = font_of_rows(" << labels.size() << ")\n";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const PointLabel& label = labels[i];
    const double at = y_axis.at(heights[i]);
    text << "set arrow from " << label.x << "," << label.y << " to " << column << "," << at
         << " nohead lc rgb '#bbbbbb' lw 1 back\nset label " << quoted(label.text) << " at "
         << column << "," << at << (to_the_left ? " right offset -0.5,0" : " left offset 0.5,0")
         << " front boxed font label_font textcolor rgb colour(" << label.colour << ")\n";
  }
  return text.str();
}

}  // namespace convlab::grader
