#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace convlab::grader {

enum class PlotFormat { kSvg, kPdf, kPng };

/// Width of every plot, in pixels of the PNG; the other formats scale.
inline constexpr int kPlotWidth = 1280;

/// How gnuplot's sizes of fonts and points differ between formats.
double font_scale(PlotFormat format);
double point_scale(PlotFormat format);

/// Okabe and Ito's colours, which most colour-blind readers tell apart.
inline constexpr std::array<const char*, 4> kPlotColours = {"#0072b2", "#d55e00", "#009e73",
                                                            "#cc79a7"};

/// Widths in pixels of a character of DejaVu Sans 14: the mean in words, in the ids of stages (gemm
/// is wide), and in numbers.
inline constexpr double kCharacterWidth = 9.4;
inline constexpr double kNameCharacterWidth = 10.4;
inline constexpr double kDigitWidth = 12.0;

/// `text` as a gnuplot string, always in one line.
std::string quoted(const std::string& text);

/// At most `width` characters of UTF-8 text. A shortened text ends in "…".
std::string shortened(const std::string& text, int width);

/// "10 000".
std::string grouped(int number);

/// The line that puts a text at a place of the whole picture, in pixels from the top left.
std::string screen_label(const std::string& text, double x, double y, int height, double size,
                         const char* colour);

/// What all plots have in common: a heading, axes with titles, and where the axes lie. Pixels of
/// the whole picture.
struct Frame {
  std::string title{};
  std::string caption{};
  std::string x_title{};
  std::string y_title{};  ///< empty: rows instead of a y axis
  int height = 760;
  double left = 96.0;
  double right = 24.0;
  double top = 90.0;
  double bottom = 86.0;

  [[nodiscard]] double inner_width() const { return kPlotWidth - left - right; }
  [[nodiscard]] double inner_height() const { return height - top - bottom; }
};

/// The lines with which every plot begins: format, file, look, frame.
std::string frame_text(const Frame& frame, PlotFormat format, const std::filesystem::path& output);

/// Heights for labels that keep a distance from each other and stay near their points. The points
/// are sorted from above.
std::vector<double> spread_labels(std::vector<double> heights, double distance);

/// Writes the program that draws into `output`.
using ProgramText = std::function<std::string(PlotFormat, const std::filesystem::path& output)>;

/// Draws FOLDER/STEM.svg, .pdf and .png. A reader at any moment sees a whole picture. Characters
/// that a file name should not have become '-' in the stem.
/// @return the three files
/// @throws EnvironmentError if gnuplot is missing or fails, or the folder cannot be created
std::vector<std::filesystem::path> draw_plot(const ProgramText& program, const std::string& stem,
                                             const std::filesystem::path& folder);

}  // namespace convlab::grader
