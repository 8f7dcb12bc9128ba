#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/plots/plotted_runs.hpp"

namespace convlab::grader {

/// Op time against batch, both on log scales: a line per stage, the sum of its convolutions.
/// A slope of one means twice the work in twice the time. If a line is flatter at its left end,
/// small batches do not keep the stage busy.
/// @return nothing unless a stage has times at two batches
std::optional<Picture> op_by_batch(const std::vector<Result>& results, const std::string& network);

/// Attainable speed over arithmetic intensity, with the stages of one network at its largest batch
/// on a GPU. The intensity is that of the convolution itself, each input and output moved once. So
/// all stages of a layer stand above each other, and the distance from a stage to the roof is what
/// it can still gain. The limit of fp16 is drawn only if a stage uses tensor cores.
/// @return nothing if no run has times, or the limits of its machine are unknown
std::optional<Picture> roofline(const std::vector<Result>& results, const std::string& network);

/// The plots of `grader plot`, network by network: op times, speed-ups, op time against batch,
/// roofline; each if the results have the data.
/// @param rows  the results of op times and speed-ups, which may be fewer
/// @throws UsageError if there would be dozens
std::vector<Picture> all_pictures(const std::vector<Result>& results,
                                  const std::vector<Result>& rows);

}  // namespace convlab::grader
