#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grader/plots/gnuplot.hpp"
#include "grader/plots/plotted_runs.hpp"

namespace convlab::grader {

/// One row of a ladder: a stage with its times, in milliseconds, or its speed-ups.
struct LadderRow {
  std::string title;
  std::vector<PlottedPoint> layers;
  PlottedPoint sum{};
  std::string text;  ///< what stands to the right of the points
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

/// Stage by stage: one panel per batch, one row per stage, a log scale that all share.
struct Ladder {
  std::string title;
  std::string axis;
  std::string file_stem;
  std::string caption;
  double origin = 0.0;  ///< where each row's bar begins; 0: at its smallest point
  std::vector<LadderPanel> panels;
};

/// Op-time progression. @return nothing if there is no time to draw
std::optional<Ladder> make_ladder(const std::vector<Result>& results, const std::string& network);

/// What each step bought: the op time of a stage's baseline divided by its own op time, from
/// medians at the same batch. The baseline is the last stage before it with the id that it names;
/// if it names none, the stage before it on the ladder. A stage without a baseline in the results
/// is left out. The bars are the quotients of opposite quartiles.
/// @return nothing if no stage is left
std::optional<Ladder> make_steps(const std::vector<Result>& results, const std::string& network);

/// The reference lines of a network and batch, shortest time first. Of two lines with the same
/// label the one in the later file counts.
std::vector<LadderPanel::Line> reference_lines(const std::vector<Result>& results,
                                               const std::string& network, int batch);

/// The gnuplot program that draws it; with its data, in one text.
std::string gnuplot_text(const Ladder& ladder, PlotFormat format,
                         const std::filesystem::path& output);

/// Draws it as SVG, PDF and PNG, FOLDER/STEM.*; what does not fit on one slide goes onto STEM-2.*.
/// @return the files
/// @throws EnvironmentError if gnuplot is missing or fails; UsageError if it would be dozens
std::vector<std::filesystem::path> draw(const Ladder& ladder, const std::filesystem::path& folder);

}  // namespace convlab::grader
