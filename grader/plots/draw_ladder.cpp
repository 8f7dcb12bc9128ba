// Writes a ladder as a gnuplot program and lets gnuplot draw it.
//
// All rows share one y axis that counts downwards: a heading line for each panel, a line for the
// label of each reference line, then the stages. This file chooses all positions, so that nothing
// overlaps: texts stand to the right of their points, and the x axis ends after the longest text.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "common/timing/three_digits.hpp"
#include "grader/plots/ladder.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

// Sizes in pixels of the PNG; the other formats scale.
constexpr int kRowHeight = 34;
constexpr int kLadderTop = 100;
constexpr int kLadderBottom = 86;
constexpr int kLadderRight = 24;
constexpr double kGap = 14.0;  // from a point to its text
constexpr int kTitleWidth = 52;

struct Style {
  const char* symbol;
  int point_type;
  const char* colour;
};
constexpr std::array<Style, 4> kLayerStyles = {{{"●", 7, kPlotColours[0]},
                                                {"■", 5, kPlotColours[1]},
                                                {"◆", 13, kPlotColours[2]},
                                                {"▼", 11, kPlotColours[3]}}};
constexpr Style kSumStyle = {"▲", 9, "#111111"};

std::string title_of(const LadderRow& row) {
  return shortened(row.title, kTitleWidth);
}

PlottedPoint extent_of(const LadderRow& row) {
  PlottedPoint extent = row.sum;
  for (const PlottedPoint& point : row.layers) {
    extent.low = std::min(extent.low, point.low);
    extent.high = std::max(extent.high, point.high);
  }
  return extent;
}

/// The positions of everything.
class Layout {
 public:
  explicit Layout(const Ladder& ladder) {
    double smallest = HUGE_VAL;
    double largest = 0.0;
    int longest_title = 0;
    for (const LadderPanel& panel : ladder.panels) {
      lines_ += heading_lines(panel) + static_cast<int>(panel.rows.size());
      for (const LadderRow& row : panel.rows) {
        longest_title = std::max(longest_title, display_width(title_of(row)));
        const PlottedPoint extent = extent_of(row);
        note(row.text, extent.high);
        smallest = std::min(smallest, extent.low);
        largest = std::max(largest, extent.high);
      }
      for (const LadderPanel::Line& line : panel.lines) {
        note(label(line), line.milliseconds);
        smallest = std::min(smallest, line.milliseconds);
        largest = std::max(largest, line.milliseconds);
      }
    }
    if (ladder.origin > 0.0) {
      smallest = std::min(smallest, ladder.origin);
      largest = std::max(largest, ladder.origin);
    }
    left_ = 36.0 + kNameCharacterWidth * longest_title;
    low_ = smallest / 1.6;
    high_ = largest * 1.2;
    // A wider axis shifts the texts, so this takes a few rounds.
    for (int round = 0; round < 20; ++round) {
      for (const auto& [text, at] : texts_) {
        const double decades_per_pixel = std::log10(high_ / low_) / plot_width();
        const double end =
            std::log10(at) + (kDigitWidth * display_width(text) + 2 * kGap) * decades_per_pixel;
        high_ = std::max(high_, std::pow(10.0, end));
      }
    }
  }

  /// The panel's name stands beside the first of its reference labels.
  static int heading_lines(const LadderPanel& panel) {
    return std::max(1, static_cast<int>(panel.lines.size()));
  }

  static std::string label(const LadderPanel::Line& line) {
    return line.label + " " + three_digits(line.milliseconds);
  }

  [[nodiscard]] int height() const { return kLadderTop + kLadderBottom + kRowHeight * lines_; }
  [[nodiscard]] int lines() const { return lines_; }
  [[nodiscard]] double left() const { return left_; }
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }

  /// A place `pixels` to the right of `at`.
  [[nodiscard]] double beside(double at, double pixels) const {
    return at * std::pow(high_ / low_, pixels / plot_width());
  }

 private:
  [[nodiscard]] double plot_width() const { return kPlotWidth - kLadderRight - left_; }
  void note(const std::string& text, double at) { texts_.emplace_back(text, at); }

  std::vector<std::pair<std::string, double>> texts_;
  int lines_ = 0;
  double left_ = 0.0;
  double low_ = 0.0;
  double high_ = 0.0;
};

/// Collects the program's text: settings first, data and the plot command last.
class LadderWriter {
 public:
  LadderWriter(const Ladder& ladder, const Layout& layout, PlotFormat format)
      : ladder_(ladder),
        layout_(layout),
        scale_(font_scale(format)),
        point_scale_(point_scale(format)) {}

  std::string write(PlotFormat format, const std::filesystem::path& output) {
    text_ << frame_text({.title = ladder_.title,
                         .caption = ladder_.caption,
                         .x_title = ladder_.axis,
                         .height = layout_.height(),
                         .left = layout_.left(),
                         .right = kLadderRight,
                         .top = kLadderTop,
                         .bottom = kLadderBottom},
                        format, output)
          << "unset ytics\nset logscale x 10\nset xrange [" << layout_.low() << ":"
          << layout_.high() << "]\nset yrange [" << layout_.lines() << ":0]\n";
    legend();
    if (ladder_.origin > 0.0) {
      text_ << "set arrow from first " << ladder_.origin << ",0 to first " << ladder_.origin << ","
            << layout_.lines() << " nohead lc rgb '#888888' lw 1.5 back\n";
    }
    double line = 0.5;
    for (const LadderPanel& panel : ladder_.panels) this->panel(panel, line);
    plot();
    return text_.str();
  }

 private:
  void legend() {
    double x = 396.0;
    const auto entry = [&](const Style& style, const std::string& name) {
      text_ << screen_label(std::string(style.symbol) + " " + name, x, 28.0, layout_.height(),
                            15.0 * scale_, style.colour);
      x += 95.0;
    };
    const std::size_t layers = layer_count();
    if (layers < 2) return;  // one kind of point needs no name
    for (std::size_t i = 0; i < layers; ++i) entry(style(i), "op " + std::to_string(i + 1));
    entry(kSumStyle, "sum");
  }

  void row_label(const std::string& text, double line, const char* font) {
    text_ << "set label " << quoted(text) << " at graph 0,first " << line << " right offset -1.2,0 "
          << font << " textcolor rgb '#222222'\n";
  }

  void text_beside(const std::string& text, double x, double line, const char* colour) {
    text_ << "set label " << quoted(text) << " at first " << layout_.beside(x, kGap) << ",first "
          << line << " left front boxed textcolor rgb '" << colour << "'\n";
  }

  void panel(const LadderPanel& panel, double& line) {
    text_ << "set label " << quoted("batch " + grouped(panel.batch)) << " at graph 0,first " << line
          << " right offset -1.2,0 font '," << 17 * scale_ << "' textcolor rgb '#111111'\n";
    if (line > 1.0) {  // a rule above every panel but the first
      text_ << "set arrow from screen 0.02,first " << line - 0.5 << " to graph 1,first "
            << line - 0.5 << " nohead lc rgb '#dddddd' lw 1 back\n";
    }
    const double first_row = line + Layout::heading_lines(panel);
    const double end = first_row - 0.5 + static_cast<double>(panel.rows.size());
    for (const LadderPanel::Line& reference : panel.lines) {
      const bool floor = reference.kind == "floor";
      const char* colour = floor ? "#2b7a3d" : "#7a5b2b";
      text_ << "set arrow from first " << reference.milliseconds << "," << line - 0.2
            << " to first " << reference.milliseconds << "," << end << " nohead lc rgb '" << colour
            << "' lw 2 dt " << (floor ? 2 : 3) << " back\n";
      text_beside(Layout::label(reference), layout_.beside(reference.milliseconds, -6.0), line,
                  colour);
      line += 1.0;
    }
    line = first_row;
    for (const LadderRow& row : panel.rows) {
      row_label(title_of(row), line, "");
      text_beside(row.text, extent_of(row).high, line, kSumStyle.colour);
      this->row(row, line);
      line += 1.0;
    }
  }

  void row(const LadderRow& row, double line) {
    double least = row.sum.median;
    for (std::size_t i = 0; i < row.layers.size(); ++i) {
      point(layers_[i], row.layers[i], line);
      least = std::min(least, row.layers[i].median);
    }
    if (row.layers.size() > 1) point(sums_, row.sum, line);
    const double begin = ladder_.origin > 0.0 ? ladder_.origin : least;
    if (begin != row.sum.median) {
      spans_ << begin << " " << line << " " << row.sum.median - begin << " 0\n";
    }
  }

  static void point(std::ostringstream& data, const PlottedPoint& point, double line) {
    data << point.median << " " << line << " " << point.low << " " << point.high << "\n";
  }

  void plot() {
    std::string commands;
    const auto add = [&](const std::string& name, const std::ostringstream& data,
                         const std::string& how) {
      if (data.str().empty()) return;
      text_ << "$" << name << " << EOD\n" << data.str() << "EOD\n";
      commands += (commands.empty() ? "plot " : ", ") + std::string("$") + name + " " + how;
    };
    const auto marks = [this](const Style& style, double size) {
      std::ostringstream how;
      how << "using 1:2:3:4 with xerrorbars pt " << style.point_type << " ps "
          << size * point_scale_ << " lw 2 lc rgb '" << style.colour << "'";
      return how.str();
    };
    add("spans", spans_, "using 1:2:3:4 with vectors nohead lw 2 lc rgb '#d0d0d0'");
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      add("layer" + std::to_string(i + 1), layers_[i], marks(style(i), 1.3));
    }
    add("sums", sums_, marks(kSumStyle, 1.6));
    text_ << commands << "\n";
  }

  static const Style& style(std::size_t layer) { return kLayerStyles[layer % kLayerStyles.size()]; }

  [[nodiscard]] std::size_t layer_count() const {
    std::size_t count = 0;
    for (const LadderPanel& panel : ladder_.panels) {
      for (const LadderRow& row : panel.rows) count = std::max(count, row.layers.size());
    }
    return count;
  }

  const Ladder& ladder_;
  const Layout& layout_;
  double scale_;        // of fonts
  double point_scale_;  // SVG's points are larger than those of the others
  std::ostringstream text_;
  std::ostringstream spans_;
  std::array<std::ostringstream, kLayerStyles.size()> layers_;
  std::ostringstream sums_;
};

}  // namespace

std::string gnuplot_text(const Ladder& ladder, PlotFormat format,
                         const std::filesystem::path& output) {
  const Layout layout(ladder);
  return LadderWriter(ladder, layout, format).write(format, output);
}

std::vector<std::filesystem::path> draw(const Ladder& ladder, const std::filesystem::path& folder) {
  return draw_plot(
      [&](PlotFormat format, const std::filesystem::path& output) {
        return gnuplot_text(ladder, format, output);
      },
      ladder.file_stem, folder);
}

}  // namespace convlab::grader
