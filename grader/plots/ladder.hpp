#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/milestone/result.hpp"
#include "grader/plots/gnuplot.hpp"

namespace convlab::grader {

/// One row of a ladder: a stage with its times, in milliseconds.
struct LadderRow {
  struct Point {
    double median = 0.0;
    double low = 0.0;  ///< quartiles
    double high = 0.0;
  };
  std::string title;
  std::vector<Point> layers;
  Point sum{};
};

/// The rows of one batch, with the lines that are drawn across.
struct LadderPanel {
  struct Line {
    std::string label;
    std::string kind;  ///< "library" or "floor"
    double milliseconds = 0.0;
  };
  int batch = 0;
  std::vector<LadderRow> rows;
  std::vector<Line> lines;
};

/// Op-time progression: one panel per batch, one row per stage, a log scale that all share.
struct Ladder {
  std::string network;
  std::string caption;
  std::vector<LadderPanel> panels;
};

/// Gathers what results hold about one network. Emulated times, failed runs and runs without
/// samples are left out; of two runs of the same stage at the same batch the later file counts.
/// @return nothing if no time is left
std::optional<Ladder> make_ladder(const std::vector<Result>& results, const std::string& network);

/// Networks that the results have times for, in the order of their appearance.
std::vector<std::string> networks_of(const std::vector<Result>& results);

/// The gnuplot program that draws it; with its data, in one text.
std::string gnuplot_text(const Ladder& ladder, PlotFormat format,
                         const std::filesystem::path& output);

/// Draws it as SVG, PDF and PNG, FOLDER/op-time-NETWORK.*.
/// @return the three files
/// @throws EnvironmentError if gnuplot is missing or fails
std::vector<std::filesystem::path> draw(const Ladder& ladder, const std::filesystem::path& folder);

}  // namespace convlab::grader
