#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace convlab::grader {

enum class PlotFormat { kSvg, kPdf, kPng };

/// Width of every plot, in pixels of the PNG; the other formats scale.
inline constexpr int kPlotWidth = 1280;

/// Where gnuplot's sizes differ between formats: of fonts and of points.
double font_scale(PlotFormat format);
double point_scale(PlotFormat format);

/// `text` as a gnuplot string.
std::string quoted(const std::string& text);

/// The lines that choose format and file; `height` in pixels.
std::string terminal_text(PlotFormat format, int height, const std::filesystem::path& output);

/// A caption's font size: smaller where it is too long for the picture.
double caption_size(const std::string& caption);

/// Writes the program that draws into `output`.
using ProgramText = std::function<std::string(PlotFormat, const std::filesystem::path& output)>;

/// Draws FOLDER/STEM.svg, .pdf and .png. Who looks at one meanwhile sees a whole picture.
/// @return the three files
/// @throws EnvironmentError if gnuplot is missing or fails, or the folder cannot be created
std::vector<std::filesystem::path> draw_plot(const ProgramText& program, const std::string& stem,
                                             const std::filesystem::path& folder);

}  // namespace convlab::grader
