#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grader/plots/gnuplot.hpp"
#include "grader/plots/plotted_runs.hpp"

namespace convlab::grader {

/// Op time against batch, both on log scales: a line per stage, the sum of its convolutions.
/// A slope of one means twice the work in twice the time. If a line is flatter at its left end,
/// small batches do not keep the stage busy.
struct OpByBatch {
  struct Place {
    int batch = 0;
    PlottedPoint time{};  ///< milliseconds
  };
  struct Line {
    std::string name;
    std::string family;  ///< lines of a milestone share a colour; "library", "floor"
    std::vector<Place> places;
  };
  std::string network;
  std::string caption;
  std::vector<Line> stages;
  std::vector<Line> references;
};

/// @return nothing unless a stage has times at two batches
std::optional<OpByBatch> make_op_by_batch(const std::vector<Result>& results,
                                          const std::string& network);

/// The gnuplot program that draws it.
std::string gnuplot_text(const OpByBatch& plot, PlotFormat format,
                         const std::filesystem::path& output);

/// Draws FOLDER/op-by-batch-NETWORK.svg, .pdf and .png.
std::vector<std::filesystem::path> draw(const OpByBatch& plot, const std::filesystem::path& folder);

}  // namespace convlab::grader
