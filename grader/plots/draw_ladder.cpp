// Writes a ladder as a gnuplot program and lets gnuplot draw it.
//
// A slide: the panels stand side by side and share their rows, whose names stand once, at the left.
// Each panel counts its rows downwards from 1; above them lies a line for the label of each
// reference. The more rows, the smaller the letters.

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "common/error/error.hpp"
#include "common/timing/three_digits.hpp"
#include "grader/plots/ladder.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

// Of one picture: more cannot be read.
constexpr std::size_t kMostRows = 48;
constexpr std::size_t kMostPanels = 4;
constexpr std::size_t kMostSlides = 20;
constexpr int kTitleWidth = 64;
constexpr double kGap = 30.0;  // between panels, in pixels

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

const Style& style(std::size_t layer) {
  return kLayerStyles[layer % kLayerStyles.size()];
}

/// Names of the rows of all panels, in order. A name that a panel has twice (two solutions) is
/// there twice.
class RowNames {
 public:
  explicit RowNames(const Ladder& ladder) {
    for (const LadderPanel& panel : ladder.panels) {
      std::size_t next = 0;
      for (const LadderRow& row : panel.rows) {
        auto found =
            std::find(names_.begin() + static_cast<std::ptrdiff_t>(next), names_.end(), row.title);
        if (found == names_.end()) {
          found = names_.insert(names_.begin() + static_cast<std::ptrdiff_t>(next), row.title);
        }
        next = static_cast<std::size_t>(found - names_.begin()) + 1;
      }
    }
  }

  [[nodiscard]] const std::vector<std::string>& all() const { return names_; }

  /// The lines of a panel's rows, from 1.
  [[nodiscard]] std::vector<std::size_t> lines_of(const LadderPanel& panel) const {
    std::vector<std::size_t> lines;
    std::size_t next = 0;
    for (const LadderRow& row : panel.rows) {
      while (names_[next] != row.title) ++next;
      lines.push_back(++next);
    }
    return lines;
  }

 private:
  std::vector<std::string> names_;
};

class LadderWriter {
 public:
  LadderWriter(const Ladder& ladder, PlotFormat format)
      : ladder_(ladder), names_(ladder), format_(format) {
    double largest = ladder.origin;
    low_ = ladder.origin > 0.0 ? ladder.origin : HUGE_VAL;
    const auto note = [&](double low, double high) {
      low_ = std::min(low_, low);
      largest = std::max(largest, high);
    };
    for (const LadderPanel& panel : ladder.panels) {
      references_ = std::max(references_, panel.lines.size());
      for (const LadderPanel::Line& line : panel.lines) note(line.milliseconds, line.milliseconds);
      for (const LadderRow& row : panel.rows) {
        note(row.sum.low, row.sum.high);
        for (const PlottedPoint& point : row.layers) note(point.low, point.high);
        longest_text_ = std::max(longest_text_, display_width(row.text));
        layers_ = std::max(layers_, row.layers.size());
      }
    }
    int longest_name = 0;
    for (const std::string& name : names_.all()) {
      longest_name = std::max(longest_name, display_width(shortened(name, kTitleWidth)));
    }
    frame_ = {.title = ladder.title, .caption = ladder.caption, .x_title = ladder.axis, .top = 108};
    const auto lines = static_cast<double>(names_.all().size() + references_);
    font_ = label_font(frame_.inner_height() / lines);
    frame_.left = 40.0 + kCharacter * font_ * longest_name;
    const auto panels = static_cast<double>(ladder.panels.size());
    width_ = (frame_.inner_width() - kGap * (panels - 1.0)) / panels;
    // The axis goes on after the largest point until its text has room.
    low_ /= 1.3;
    const double text = std::min(0.5, (kDigit * font_ * longest_text_ + 14.0) / width_);
    high_ = largest * std::pow(largest / low_, text / (1.0 - text)) * 1.1;
  }

  std::string write(const std::filesystem::path& output) {
    text_ << frame_text(frame_, format_, output) << "set multiplot\nset logscale x 10\nset xrange ["
          << low_ << ":" << high_ << "]\nset yrange [" << names_.all().size() + 1 << ":"
          << -static_cast<double>(references_) << "]\nset xtics font '," << size(10.0) << "'\n";
    // A decade in less than this has no room for its number.
    constexpr double kRoom = 46.0;
    if (width_ / std::log10(high_ / low_) < kRoom) text_ << "set xtics 100\nunset mxtics\n";
    legend();
    for (std::size_t i = 0; i < ladder_.panels.size(); ++i) panel(i);
    text_ << "unset multiplot\n";
    return text_.str();
  }

 private:
  [[nodiscard]] double size(double size) const { return size * font_scale(format_); }

  void legend() {
    if (layers_ < 2) return;  // one kind of point needs no name
    constexpr double kEntry = 90.0;
    double x = kPlotWidth - 24.0 - kEntry * static_cast<double>(layers_ + 1);
    const auto entry = [&](const Style& style, const std::string& name) {
      text_ << screen_label(std::string(style.symbol) + " " + name, x, 28.0, size(14.0),
                            style.colour);
      x += kEntry;
    };
    for (std::size_t i = 0; i < layers_; ++i) entry(style(i), "op " + std::to_string(i + 1));
    entry(kSumStyle, "sum");
  }

  void panel(std::size_t index) {
    const LadderPanel& panel = ladder_.panels[index];
    const double left = frame_.left + static_cast<double>(index) * (width_ + kGap);
    text_ << "set lmargin at screen " << left / kPlotWidth << "\nset rmargin at screen "
          << (left + width_) / kPlotWidth << "\nset ytics scale 0 font '," << size(font_) << "' (";
    for (std::size_t row = 0; row < names_.all().size(); ++row) {
      text_ << (row == 0 ? "" : ", ")
            << quoted(index == 0 ? shortened(names_.all()[row], kTitleWidth) : "") << " "
            << row + 1;
    }
    text_ << ")\nset grid xtics ytics lc rgb '#e8e8e8' lt 1\nset label "
          << quoted("batch " + grouped(panel.batch)) << " at graph 1,1 right offset 0,0.7 font ',"
          << size(14.0) << "' textcolor rgb '#111111'\n";
    const auto rows = static_cast<double>(names_.all().size());
    if (ladder_.origin > 0.0) vertical(ladder_.origin, 0.3, rows, "'#888888' lw 1.5");
    for (std::size_t i = 0; i < panel.lines.size(); ++i) {
      const LadderPanel::Line& line = panel.lines[i];
      const double height = static_cast<double>(i) - static_cast<double>(references_) + 0.7;
      const bool floor = line.kind == "floor";
      const std::string colour = floor ? "'#2b7a3d'" : "'#7a5b2b'";
      vertical(line.milliseconds, height, rows, colour + " lw 2 dt " + (floor ? "2" : "3"));
      const bool on_the_left = line.milliseconds > std::sqrt(low_ * high_);
      text_ << "set label " << quoted(line.label + " " + three_digits(line.milliseconds))
            << " at first " << line.milliseconds << "," << height
            << (on_the_left ? " right offset -0.5,0" : " left offset 0.5,0") << " front font ',"
            << size(font_) << "' textcolor rgb " << colour << "\n";
    }
    data(panel);
    text_ << "unset label\nunset arrow\n";
  }

  void vertical(double x, double from, double rows, const std::string& look) {
    text_ << "set arrow from first " << x << "," << from << " to first " << x << "," << rows + 1.0
          << " nohead lc rgb " << look << " back\n";
  }

  void data(const LadderPanel& panel) {
    std::ostringstream spans;
    std::ostringstream sums;
    std::ostringstream texts;
    std::array<std::ostringstream, kLayerStyles.size()> layers;
    const std::vector<std::size_t> lines = names_.lines_of(panel);
    for (std::size_t i = 0; i < panel.rows.size(); ++i) {
      const LadderRow& row = panel.rows[i];
      const auto point = [&](std::ostringstream& to, const PlottedPoint& at) {
        to << at.median << " " << lines[i] << " " << at.low << " " << at.high << "\n";
      };
      double least = row.sum.median;
      double end = row.sum.high;
      for (std::size_t layer = 0; layer < row.layers.size(); ++layer) {
        point(layers[layer % layers.size()], row.layers[layer]);
        least = std::min(least, row.layers[layer].median);
        end = std::max(end, row.layers[layer].high);
      }
      if (row.layers.size() > 1) point(sums, row.sum);
      const double begin = ladder_.origin > 0.0 ? ladder_.origin : least;
      spans << begin << " " << lines[i] << " " << row.sum.median - begin << " 0\n";
      texts << end << " " << lines[i] << " \"" << row.text << "\"\n";
    }
    std::string commands;
    const auto add = [&](const std::string& name, const std::ostringstream& rows,
                         const std::string& how) {
      if (rows.str().empty()) return;
      text_ << "$" << name << " << EOD\n" << rows.str() << "EOD\n";
      commands += (commands.empty() ? "plot $" : ", $") + name + " using " + how;
    };
    const auto marks = [&](const Style& style, double larger) {
      std::ostringstream how;
      how << "1:2:3:4 with xerrorbars pt " << style.point_type << " ps "
          << larger * std::min(1.0, font_ / 11.0) * point_scale(format_) << " lw 1.5 lc rgb '"
          << style.colour << "'";
      return how.str();
    };
    add("spans", spans, "1:2:3:4 with vectors nohead lw 2 lc rgb '#d0d0d0'");
    for (std::size_t i = 0; i < layers.size(); ++i) {
      add("layer" + std::to_string(i + 1), layers[i], marks(style(i), 1.2));
    }
    add("sums", sums, marks(kSumStyle, 1.5));
    std::ostringstream how;
    how << "1:2:3 with labels left offset 0.9,0 font '," << size(font_)
        << "' textcolor rgb '#111111'";
    add("texts", texts, how.str());
    text_ << commands << "\n";
  }

  const Ladder& ladder_;
  RowNames names_;
  PlotFormat format_;
  Frame frame_;
  std::size_t references_ = 0;
  std::size_t layers_ = 0;
  int longest_text_ = 0;
  double font_ = 0.0;
  double width_ = 0.0;  // of a panel
  double low_ = 0.0;
  double high_ = 0.0;
  std::ostringstream text_;
};

}  // namespace

std::string gnuplot_text(const Ladder& ladder, PlotFormat format,
                         const std::filesystem::path& output) {
  return LadderWriter(ladder, format).write(output);
}

namespace {

// The ladders that fit on a picture each: at most kMostPanels batches, and kMostRows stages.
std::vector<Ladder> slides_of(const Ladder& ladder) {
  const RowNames names(ladder);
  const std::size_t all = names.all().size();
  std::vector<Ladder> slides;
  for (std::size_t panel = 0; panel < ladder.panels.size(); panel += kMostPanels) {
    const std::size_t end = std::min(panel + kMostPanels, ladder.panels.size());
    for (std::size_t row = 0; row < all; row += kMostRows) {
      Ladder slide = ladder;
      slide.panels.clear();
      for (std::size_t i = panel; i < end; ++i) {
        LadderPanel part = ladder.panels[i];
        part.rows.clear();
        const std::vector<std::size_t> lines = names.lines_of(ladder.panels[i]);
        for (std::size_t line = 0; line < lines.size(); ++line) {
          const bool here = lines[line] > row && lines[line] <= row + kMostRows;
          if (here) part.rows.push_back(ladder.panels[i].rows[line]);
        }
        if (!part.rows.empty()) slide.panels.push_back(std::move(part));
      }
      if (slide.panels.empty()) continue;
      if (!slides.empty()) slide.file_stem += "-" + std::to_string(slides.size() + 1);
      slides.push_back(std::move(slide));
    }
  }
  return slides;
}

}  // namespace

std::vector<std::filesystem::path> draw(const Ladder& ladder, const std::filesystem::path& folder) {
  const std::vector<Ladder> slides = slides_of(ladder);
  if (slides.size() > kMostSlides) {
    throw UsageError("This would be " + std::to_string(slides.size()) +
                     " pictures, and nobody looks at more than " + std::to_string(kMostSlides) +
                     "; name fewer results.");
  }
  std::vector<std::filesystem::path> files;
  for (const Ladder& slide : slides) {
    const auto program = [&](PlotFormat format, const std::filesystem::path& output) {
      return gnuplot_text(slide, format, output);
    };
    for (auto& file : draw_plot(program, slide.file_stem, folder)) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace convlab::grader
