#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/pages/page.hpp"

namespace convlab::grader {

/// Draws a chart of a page as FOLDER/STEM.svg, .pdf and .png with gnuplot.
/// @param caption  what a reader needs to trust the numbers, below the title
/// @return the three files
/// @throws EnvironmentError if gnuplot is missing or fails
std::vector<std::filesystem::path> draw_chart(const Chart& chart, const std::string& caption,
                                              const std::string& stem,
                                              const std::filesystem::path& folder);

}  // namespace convlab::grader
