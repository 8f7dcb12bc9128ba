#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace convlab::grader {

enum class PlotFormat { kSvg, kPdf, kPng };

/// Every plot is a slide: 16:9, in pixels of the PNG; the other formats scale.
inline constexpr int kPlotWidth = 1280;
inline constexpr int kPlotHeight = 720;

/// How gnuplot's sizes of fonts and points differ between formats.
double font_scale(PlotFormat format);
double point_scale(PlotFormat format);

/// Okabe and Ito's colours, which most colour-blind readers tell apart; the last one is darker than
/// theirs, because small letters in it must be read, too.
inline constexpr std::array<const char*, 4> kPlotColours = {"#0072b2", "#d55e00", "#009e73",
                                                            "#b3508a"};

/// gnuplot's symbols: filled ones first, then the same shapes empty.
inline constexpr std::array<int, 10> kPointTypes = {7, 5, 9, 11, 13, 6, 4, 8, 10, 12};

/// Widths of a character and of a digit of DejaVu Sans, for a font of size 1.
inline constexpr double kCharacter = 0.72;
inline constexpr double kDigit = 0.86;

/// The size of letters that a line of this height in pixels holds; never more than the usual 14.
double label_font(double line_height);

/// `text` as a gnuplot string, always in one line.
std::string quoted(const std::string& text);

/// At most `width` characters of UTF-8 text. A shortened text ends in "…".
std::string shortened(const std::string& text, int width);

/// "10 000".
std::string grouped(int number);

/// The line that puts a text at a place of the whole picture, in pixels from the top left.
std::string screen_label(const std::string& text, double x, double y, double size,
                         const char* colour);

/// What all plots have in common: a heading, axes with titles, and where the axes lie. Pixels of
/// the whole picture.
struct Frame {
  std::string title{};
  std::string caption{};
  std::string x_title{};
  std::string y_title{};  ///< empty: rows instead of a y axis
  double left = 96.0;
  double right = 24.0;
  double top = 90.0;
  double bottom = 86.0;

  [[nodiscard]] double inner_width() const { return kPlotWidth - left - right; }
  [[nodiscard]] double inner_height() const { return kPlotHeight - top - bottom; }
};

/// The lines with which every plot begins: format, file, look, frame.
std::string frame_text(const Frame& frame, PlotFormat format, const std::filesystem::path& output);

/// Axes with log scales in a frame.
struct LogAxes {
  Frame frame{};
  double x_low = 1.0;
  double x_high = 10.0;
  double y_low = 1.0;
  double y_high = 10.0;

  /// The place so many pixels to the right of x, or above y.
  [[nodiscard]] double beside(double x, double pixels) const;
  [[nodiscard]] double above(double y, double pixels) const;
};

/// Heights in pixels for labels of points at these heights, sorted from above: they keep a distance
/// from each other, and stay between `lowest` and `highest` if there is room.
std::vector<double> spread_labels(std::vector<double> heights, double distance, double lowest,
                                  double highest);

/// A point with the text that belongs to it.
struct PointLabel {
  double x = 0.0;
  double y = 0.0;
  std::string text{};
  std::string colour{};
};

/// The lines that write the texts in a column, each as near to its point as possible and with a
/// thin line to it. The more there are, the smaller the letters.
/// @param column        where the column begins, or with `to_the_left` ends, on the x axis
/// @param line_height   in pixels, see label_line
std::string point_labels(std::vector<PointLabel> labels, const LogAxes& axes, double column,
                         bool to_the_left, double line_height, PlotFormat format);

/// The height of a line in pixels if so many labels share the height of the axes.
double label_line(const Frame& frame, std::size_t labels);

/// Writes the program that draws into `output`.
using ProgramText = std::function<std::string(PlotFormat, const std::filesystem::path& output)>;

/// Draws FOLDER/STEM.svg, .pdf and .png. A reader at any moment sees a whole picture. Characters
/// that a file name should not have become '-' in the stem.
/// @return the three files
/// @throws EnvironmentError if gnuplot is missing or fails, or the folder cannot be created
std::vector<std::filesystem::path> draw_plot(const ProgramText& program, const std::string& stem,
                                             const std::filesystem::path& folder);

}  // namespace convlab::grader
