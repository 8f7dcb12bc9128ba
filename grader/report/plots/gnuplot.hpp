#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grader/report/plots/figure.hpp"

namespace convlab::grader {

/// The data of a figure for gnuplot: variables, and data blocks with a row in each line. Names and
/// titles stand in data blocks only, never in a command, and nobody can know the mark that ends
/// a block.
std::string gnuplot_data(const Figure& figure, const std::string& mark);

/// Draws FOLDER/NAME.svg, .pdf and .png of each figure, with the templates beside
/// this file: look.gp, then one of the figure's form. gnuplot runs in a sandbox. A reader always
/// sees a whole picture. Characters that do not belong in a file name become '-'.
/// @return the files
/// @throws UsageError if a figure has more rows or panels than can be read
/// @throws EnvironmentError if gnuplot is missing or fails, or the folder cannot be created
std::vector<std::filesystem::path> draw(const std::vector<Figure>& figures,
                                        const std::filesystem::path& folder);

}  // namespace convlab::grader
