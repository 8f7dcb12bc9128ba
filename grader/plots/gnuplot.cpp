#include "grader/plots/gnuplot.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <future>
#include <sstream>
#include <utility>

#include "common/error/error.hpp"
#include "common/file/whole_file.hpp"
#include "common/process/run_process.hpp"
#include "grader/report/terminal.hpp"

namespace convlab::grader {

namespace {

constexpr double kPoint = 0.72;       // points to a pixel of the PDF
constexpr double kPixel = 4.0 / 3.0;  // pixels to a point: the SVG's font sizes are pixels

/// The output of gnuplot for a program.
struct Drawing {
  std::string bytes{};
  std::string complaints{};  ///< empty if it went well
};

// The picture comes through a pipe, because gnuplot does not notice a full disk.
Drawing run_gnuplot(const std::string& program) {
  const FinishedProcess run = run_process({.words = {"gnuplot", "-"}, .input = program});
  Drawing drawing{.bytes = run.output, .complaints = {}};
  if (run.succeeded() && !drawing.bytes.empty()) return drawing;
  drawing.complaints = run.errors.empty() ? "it drew nothing" : run.errors;
  return drawing;
}

// gnuplot first quotes the line that it does not understand, and names the error last.
std::string last_line(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.pop_back();
  }
  return text.substr(text.find_last_of('\n') + 1);
}

}  // namespace

double font_scale(PlotFormat format) {
  switch (format) {
    case PlotFormat::kSvg:
      return kPixel;
    case PlotFormat::kPdf:
      return kPoint;
    case PlotFormat::kPng:
      break;
  }
  return 1.0;
}

double point_scale(PlotFormat format) {
  return format == PlotFormat::kSvg ? 0.6 : font_scale(format);
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    const bool is_control = static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    result += c == '\'' ? "''" : std::string(1, is_control ? ' ' : c);
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

double label_font(double line_height) {
  constexpr double kUsual = 14.0;
  constexpr double kLine = 22.0;
  return kUsual * std::min(1.0, line_height / kLine);
}

std::string screen_label(const std::string& text, double x, double y, double size,
                         const char* colour) {
  std::ostringstream line;
  line << "set label " << quoted(text) << " at screen " << x / kPlotWidth << ",screen "
       << 1.0 - y / kPlotHeight << " font '," << size << "' textcolor rgb '" << colour << "'\n";
  return line.str();
}

namespace {

enum class Axis { kX, kY };

std::string terminal_text(PlotFormat format, const std::filesystem::path& output) {
  std::ostringstream text;
  constexpr double kInch = 100.0;  // pixels to an inch of the PDF
  text << "set terminal ";
  switch (format) {
    case PlotFormat::kSvg:
      text << "svg noenhanced size " << kPlotWidth << "," << kPlotHeight
           << " dynamic standalone background rgb 'white' font 'DejaVu Sans," << 14 * kPixel << "'";
      break;
    case PlotFormat::kPng:
      text << "pngcairo noenhanced size " << kPlotWidth << "," << kPlotHeight
           << " font 'DejaVu Sans,14'";
      break;
    case PlotFormat::kPdf:
      text << "pdfcairo noenhanced size " << kPlotWidth / kInch << "in," << kPlotHeight / kInch
           << "in font 'DejaVu Sans," << 14 * kPoint << "' linewidth " << kPoint << " fontscale 1";
      break;
  }
  text << "\nset output " << quoted(output.string()) << "\nset encoding utf8\n";
  return text.str();
}

std::string heading(const Frame& frame, PlotFormat format) {
  constexpr double kUsual = 13.0;
  constexpr double kPerPoint = 0.70;  // mean width of a character, in sizes
  constexpr double kMargin = 24.0;
  const double width = kUsual * kPerPoint * display_width(frame.caption);
  const double size = std::min(kUsual, kUsual * (kPlotWidth - 2 * kMargin) / width);
  const double scale = font_scale(format);
  return screen_label(frame.title, kMargin, 28.0, 20.0 * scale, "#111111") +
         screen_label(frame.caption, kMargin, 58.0, size * scale, "#666666");
}

// gnuplot's own titles have another distance in each format, and may fall out of the picture.
std::string axis_title(Axis axis, const std::string& text, double centre, PlotFormat format) {
  const bool along_x = axis == Axis::kX;
  const double edge = along_x ? 18.0 : 24.0;
  std::ostringstream line;
  line << "set label " << quoted(text) << " at screen " << (along_x ? centre : edge) / kPlotWidth
       << ",screen " << 1.0 - (along_x ? kPlotHeight - edge : centre) / kPlotHeight << " center"
       << (along_x ? "" : " rotate by 90") << " font '," << 14 * font_scale(format)
       << "' textcolor rgb '#333333'\n";
  return line.str();
}

}  // namespace

std::string frame_text(const Frame& frame, PlotFormat format, const std::filesystem::path& output) {
  const bool has_y = !frame.y_title.empty();
  std::ostringstream text;
  text << terminal_text(format, output) << "unset key\nset border " << (has_y ? 3 : 1)
       << " lc rgb '#888888'\nset tics nomirror out textcolor rgb '#333333'\nset format '%g'\n"
       << "set grid " << (has_y ? "" : "x ") << "lc rgb '#e8e8e8' lt 1\nset errorbars 0.6\n"
       << "set lmargin at screen " << frame.left / kPlotWidth << "\nset rmargin at screen "
       << 1.0 - frame.right / kPlotWidth << "\nset tmargin at screen "
       << 1.0 - frame.top / kPlotHeight << "\nset bmargin at screen " << frame.bottom / kPlotHeight
       << "\n"
       // What lies behind a label must not be read as a part of it.
       << "set style textbox opaque noborder margins 0.2,0.1 fillcolor rgb 'white'\n"
       << heading(frame, format)
       << axis_title(Axis::kX, frame.x_title, frame.left + frame.inner_width() / 2, format);
  if (has_y) {
    text << axis_title(Axis::kY, frame.y_title, frame.top + frame.inner_height() / 2, format);
  }
  return text.str();
}

double LogAxes::beside(double x, double pixels) const {
  return x * std::pow(x_high / x_low, pixels / frame.inner_width());
}

double LogAxes::above(double y, double pixels) const {
  return y * std::pow(y_high / y_low, pixels / frame.inner_height());
}

// Labels that are too close push each other apart, in several rounds; the ends push back.
std::vector<double> spread_labels(std::vector<double> heights, double distance, double lowest,
                                  double highest) {
  for (int round = 0; round < 200; ++round) {
    for (std::size_t i = 0; i + 1 < heights.size(); ++i) {
      const double missing = distance - (heights[i] - heights[i + 1]);
      if (missing <= 0.0) continue;
      heights[i] += missing / 2;
      heights[i + 1] -= missing / 2;
    }
  }
  for (std::size_t i = heights.size(); i-- > 0;) {
    const bool is_last = i + 1 == heights.size();
    heights[i] = std::max(heights[i], is_last ? lowest : heights[i + 1] + distance);
  }
  for (std::size_t i = 0; i < heights.size(); ++i) {
    heights[i] = std::min(heights[i], i == 0 ? highest : heights[i - 1] - distance);
  }
  return heights;
}

double label_line(const Frame& frame, std::size_t labels) {
  constexpr double kLine = 22.0;
  return std::min(kLine,
                  frame.inner_height() / static_cast<double>(std::max<std::size_t>(labels, 1)));
}

std::string point_labels(std::vector<PointLabel> labels, const LogAxes& axes, double column,
                         bool to_the_left, double line_height, PlotFormat format) {
  std::stable_sort(labels.begin(), labels.end(),
                   [](const PointLabel& a, const PointLabel& b) { return a.y > b.y; });
  const double height = axes.frame.inner_height();
  std::vector<double> heights;
  for (const PointLabel& label : labels) {
    heights.push_back(height * std::log(label.y / axes.y_low) / std::log(axes.y_high / axes.y_low));
  }
  heights =
      spread_labels(std::move(heights), line_height, line_height / 2, height - line_height / 2);
  const double side = to_the_left ? -1.0 : 1.0;
  std::ostringstream text;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const PointLabel& label = labels[i];
    const double at = axes.above(axes.y_low, heights[i]);
    text << "set arrow from first " << axes.beside(label.x, 9.0 * side) << "," << label.y
         << " to first " << axes.beside(column, -6.0 * side) << "," << at
         << " nohead lc rgb '#bbbbbb' lw 1 back\n"
         << "set label " << quoted(label.text) << " at first " << column << "," << at
         << (to_the_left ? " right" : " left") << " front boxed font ',"
         << label_font(line_height) * font_scale(format) << "' textcolor rgb '" << label.colour
         << "'\n";
  }
  return text.str();
}

std::vector<std::filesystem::path> draw_plot(const ProgramText& program, const std::string& name,
                                             const std::filesystem::path& folder) {
  std::string stem = name;
  for (char& c : stem) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') c = '-';
  }
  constexpr std::array kFormats = {std::pair(PlotFormat::kSvg, ".svg"),
                                   std::pair(PlotFormat::kPdf, ".pdf"),
                                   std::pair(PlotFormat::kPng, ".png")};
  std::vector<std::future<Drawing>> drawings;
  for (const auto& format : kFormats) {
    drawings.push_back(
        std::async(std::launch::async, run_gnuplot, program(format.first, "/dev/stdout")));
  }
  std::vector<std::filesystem::path> files;
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    const Drawing drawing = drawings[i].get();
    if (!drawing.complaints.empty()) {
      throw EnvironmentError("gnuplot failed: " + last_line(drawing.complaints) +
                             ". To install it: common/setup/lab setup");
    }
    files.push_back(folder / (stem + kFormats[i].second));
    write_atomically(files.back(), drawing.bytes);
  }
  return files;
}

}  // namespace convlab::grader
