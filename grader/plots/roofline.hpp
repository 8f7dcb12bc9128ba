#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/device/physical_floor.hpp"
#include "common/result/result.hpp"
#include "grader/plots/gnuplot.hpp"

namespace convlab::grader {

/// One convolution layer in a roofline, with the speed of each stage.
struct RooflineLayer {
  struct Point {
    std::string stage;
    double operations_per_second = 0.0;
  };
  double intensity = 0.0;  ///< operations for each byte of compulsory traffic
  std::vector<Point> points;
};

/// Attainable speed over arithmetic intensity, with the stages of one network at its largest batch.
struct Roofline {
  std::string network;
  int batch = 0;
  std::string caption;
  DeviceLimits limits;  ///< the ceilings; fp16_per_second only where a stage uses tensor cores
  std::vector<RooflineLayer> layers;
};

/// Collects the results of GPUs for one network. The intensity is that of the convolution itself,
/// each input and output moved once. So all stages of a layer stand above each other, and the
/// distance from a stage to the roof is what remains to gain.
/// @return nothing if no run has times, or the limits of its machine are unknown
std::optional<Roofline> make_roofline(const std::vector<Result>& results,
                                      const std::string& network);

/// The gnuplot program that draws it.
std::string gnuplot_text(const Roofline& roofline, PlotFormat format,
                         const std::filesystem::path& output);

/// Draws FOLDER/roofline-NETWORK.svg, .pdf and .png.
std::vector<std::filesystem::path> draw(const Roofline& roofline,
                                        const std::filesystem::path& folder);

}  // namespace convlab::grader
