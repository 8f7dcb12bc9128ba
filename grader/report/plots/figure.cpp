#include "grader/report/plots/figure.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <concepts>
#include <cstdio>
#include <map>
#include <random>
#include <thread>

#include "common/base/error.hpp"
#include "common/base/foreign_text.hpp"
#include "common/base/in_threads.hpp"
#include "common/base/run_process.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/report/terminal.hpp"
#include "grader/submission/sandbox/child_process.hpp"

namespace convlab::grader {

namespace {

namespace fs = std::filesystem;

constexpr double kMostLabels = 24.0;  // of full size, in a column

std::string number_text(double value) {
  return value == std::floor(value) && std::abs(value) < 1e6 ? std::to_string(std::lround(value))
                                                             : three_digits(value);
}

struct Format {
  const char* ending;
  const char* terminal;
  const char* last;  ///< how a whole file ends: gnuplot does not notice a full disk
};

// Sizes of letters are those of the PNG in all of them; `dot` does the same for points.
constexpr std::array<Format, 3> kFormats = {{
    {".svg",
     "set terminal svg noenhanced size 1280,720 dynamic standalone background rgb 'white' "
     "font 'DejaVu Sans,14' fontscale 1.3333\ndot = 0.6\n",
     "</svg>"},
    {".pdf",
     "set terminal pdfcairo noenhanced size 12.8in,7.2in font 'DejaVu Sans,14' fontscale 0.72 "
     "linewidth 0.72\ndot = 0.72\n",
     "%%EOF"},
    {".png", "set terminal pngcairo noenhanced size 1280,720 font 'DejaVu Sans,14'\ndot = 1\n",
     "IEND"},
}};

std::string random_mark() {
  std::random_device source;
  std::string mark = "end_";
  for (int i = 0; i < 4; ++i) mark += std::to_string(source());
  return mark;
}

// The places of labels in a column, as shares of its height, from above: they keep a distance, and
// stay between 0 and a highest place if there is room for all. Push them only upwards, then only
// downwards: the mean of both positions keeps all distances. Then the ends push back.
std::vector<double> spread_labels(const std::vector<double>& heights, double distance,
                                  double highest) {
  const auto upwards = [&](std::vector<double> from, double lowest) {
    for (std::size_t i = from.size(); i-- > 0; lowest = from[i] + distance) {
      from[i] = std::max(from[i], lowest);
    }
    return from;
  };
  const auto downwards = [&](std::vector<double> from, double next) {
    for (double& height : from) {
      height = std::min(height, next);
      next = height - distance;
    }
    return from;
  };
  std::vector<double> middle = upwards(heights, -1.0);
  const std::vector<double> lower = downwards(heights, 2.0);
  for (std::size_t i = 0; i < middle.size(); ++i) middle[i] = (middle[i] + lower[i]) / 2;
  return downwards(upwards(middle, distance / 2), highest - distance / 2);
}

std::string cell(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", number);
  return text.data();
}
std::string cell(std::integral auto number) {
  return std::to_string(number);
}
std::string cell(const std::string& text) {
  return gnuplot_cell(text);
}

template <class... Cells>
std::string row(const Cells&... cells) {
  std::string line;
  ((line += (line.empty() ? "" : "\t") + cell(cells)), ...);
  return line + "\n";
}

/// Variables, and data blocks with a row in each line. Names stand in blocks only, never in a
/// command; nobody can know the mark that ends a block.
class GnuplotData {
 public:
  explicit GnuplotData(const Figure& figure) : figure_(figure) {
    block("texts",
          row(figure.title) + row(figure.caption) + row(figure.x.title) + row(figure.y.title));
    add_names();
    add_panels();
    add_labels();
    set("longest", longest_);
    set("origin", figure.origin);
    set("x_low", figure.x.low);
    set("x_high", figure.x.high);
    set("y_low", figure.y.low);
    set("y_high", figure.y.high);
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void set(const char* variable, double value) {
    text_ += std::string(variable) + " = " + cell(value) + "\n";
  }
  void block(const char* name, const std::string& rows) {
    text_ += "$" + std::string(name) + " << " + mark_ + "\n" + rows + mark_ + "\n";
  }

  void add_names() {
    constexpr int kNameWidth = 64;
    std::string rows;
    for (const std::string& name : figure_.rows) {
      rows += row(short_line(name, kNameWidth));
      longest_ = std::max(longest_, display_width(short_line(name, kNameWidth)));
    }
    block("rows", rows);
  }

  void add_panels() {
    // A series of the same label looks the same in all panels and stands once in the key.
    std::vector<Series> key;
    std::string panels;
    std::string points;
    std::string bars;
    std::string rules;
    std::size_t most_rules = 0;
    for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
      const Panel& panel = figure_.panels[i];
      panels += row(panel.title);
      for (const Series& series : panel.series) {
        const auto known = std::ranges::find_if(key, [&](const Series& each) {
          return !each.label.empty() && each.label == series.label;
        });
        const auto place = static_cast<std::size_t>(known - key.begin());
        if (known == key.end()) key.push_back(series);
        for (const Mark& point : series.marks) {
          points += row(i, point.at, place, point.value, point.low, point.high);
        }
      }
      for (const Mark& bar : panel.bars) {
        bars += row(i, bar.at, bar.low, bar.value, bar.high, bar.text);
      }
      most_rules = std::max(most_rules, panel.rules.size());
      for (std::size_t k = 0; k < panel.rules.size(); ++k) {
        const Rule& rule = panel.rules[k];
        rules += row(i, k, rule.value, rule.colour, rule.label);
      }
    }
    block("panels", panels);
    block("points", points);
    block("bars", bars);
    block("rules", rules);
    std::string series;
    for (const Series& each : key) {
      series += row(each.colour, each.symbol, static_cast<int>(each.line), each.label);
    }
    block("series", series);
    set("rules", static_cast<double>(most_rules));
  }

  void add_labels() {
    constexpr int kLabelWidth = 44;
    std::string labels;
    std::size_t most_labels = 0;
    for (const Label& label : figure_.labels) {
      const std::string words = short_line(label.text, kLabelWidth);
      labels +=
          row(label.x, label.y, label.column, label.text_y, label.to_the_left, label.colour, words);
      if (label.column > figure_.x.high) longest_ = std::max(longest_, display_width(words));
      const auto beside = std::ranges::count(figure_.labels, label.column, &Label::column);
      most_labels = std::max(most_labels, static_cast<std::size_t>(beside));
    }
    block("labels", labels);
    set("most_labels", static_cast<double>(most_labels));
  }

  const Figure& figure_;
  const std::string mark_ = random_mark();
  std::string text_{};
  int longest_ = 0;
};

std::string error_of(const ChildProcess& gnuplot, const Ending& ending) {
  if (ending.kind == Ending::Kind::kNoStart) return "it is missing";
  // gnuplot first quotes the line that it does not understand, and names the error last.
  const std::string printed = trimmed_end(gnuplot.output_tail());
  return printed.empty() ? "it drew nothing" : printed.substr(printed.find_last_of('\n') + 1);
}

std::vector<fs::path> draw_one(const Figure& figure, const fs::path& folder) {
  // network_folder() is ROOT/common/network.
  const fs::path course = network_folder().parent_path().parent_path();
  const fs::path templates = course / "grader/report/plots";
  const ScratchFolder scratch;
  const std::string data = GnuplotData(figure).text();
  std::string program;
  for (const Format& format : kFormats) {
    program += "reset\n" + std::string(format.terminal) + "set output 'figure" + format.ending +
               "'\n" + data + read_text(templates / "look.gp") +
               read_text(templates / (figure.rows.empty() ? "lines.gp" : "rows.gp")) +
               "unset output\n";
  }
  write_atomically(scratch.path() / "figure.gp", program);
  ChildProcess gnuplot("/usr/bin/env", {"gnuplot", "figure.gp"},
                       {.policy = {.kind = SandboxKind::kCompiler,
                                   .readable = {"/etc/fonts", "/var/cache/fontconfig"},
                                   .secret = course,
                                   .cpu_seconds = 120,
                                   .data_bytes = std::uint64_t{4} << 30},
                        .folder = scratch.path()});
  const Ending ending = gnuplot.wait(std::chrono::minutes(5));
  std::string stem = figure.name;
  for (char& c : stem) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') c = '-';
  }
  std::vector<fs::path> files;
  for (const Format& format : kFormats) {
    const fs::path drawn = scratch.path() / ("figure" + std::string(format.ending));
    const std::string picture = fs::exists(drawn) ? read_text(drawn) : "";
    constexpr std::size_t kEnd = 32;
    if (ending.kind != Ending::Kind::kExited || ending.code != 0 ||
        picture.find(format.last, picture.size() - std::min(kEnd, picture.size())) ==
            std::string::npos) {
      throw EnvironmentError("gnuplot failed: " + error_of(gnuplot, ending) +
                             ". To install it: common/setup/lab setup");
    }
    files.push_back(folder / (stem + format.ending));
    write_atomically(files.back(), picture);
  }
  return files;
}

}  // namespace

void Axis::include(double value) {
  low = high < low ? value : std::min(low, value);
  high = std::max(high, value);
}

double Axis::at(double share) const {
  return low * std::pow(high / low, share);
}

double Axis::share(double value) const {
  return std::log(value / low) / std::log(high / low);
}

void Figure::add_labels(std::vector<Label> column, double highest) {
  std::ranges::stable_sort(column, [](const Label& a, const Label& b) { return a.y > b.y; });
  std::vector<double> heights;
  for (const Label& label : column) heights.push_back(y.share(label.y));
  const double count = static_cast<double>(column.size());
  const double distance = 1.0 / std::max(kMostLabels, count);
  heights = spread_labels(heights, distance, std::max(highest, count * distance));
  for (std::size_t i = 0; i < column.size(); ++i) {
    column[i].text_y = y.at(heights[i]);
    labels.push_back(std::move(column[i]));
  }
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
    cells[0] = named ? figure.rows.at(static_cast<std::size_t>(row)) : number_text(row);
    cells.resize(table.heading.size());
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::vector<fs::path> draw(const std::vector<Figure>& figures, const fs::path& folder) {
  // More would be unreadable.
  constexpr std::size_t kMostRows = 64;
  constexpr std::size_t kMostPanels = 6;
  for (const Figure& figure : figures) {
    if (figure.rows.size() <= kMostRows && figure.panels.size() <= kMostPanels) continue;
    throw UsageError("A picture has room for " + std::to_string(kMostRows) + " stages and " +
                     std::to_string(kMostPanels) + " batches, and these results hold more; name " +
                     "fewer.");
  }
  std::vector<std::vector<fs::path>> drawn(figures.size());
  in_threads(figures.size(), std::thread::hardware_concurrency(),
             [&](std::size_t i) { drawn[i] = draw_one(figures[i], folder); });
  std::vector<fs::path> files;
  for (const auto& each : drawn) files.insert(files.end(), each.begin(), each.end());
  return files;
}

}  // namespace convlab::grader
