#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grader/report/plots/figure.hpp"
#include "grader/report/plots/plotted_runs.hpp"

namespace convlab::grader {

/// Op times, stage by stage: a panel per batch, with bounds and libraries.
/// @return nothing if there is no time to draw
std::optional<Figure> op_times(const std::vector<Result>& results, const std::string& network);

/// What each step gained: the op time of a stage's baseline divided by its own op time, from
/// medians at the same batch. The baseline is the last stage before it with the id that it names;
/// if it names none, the stage before it on the ladder. A stage without a baseline in the results
/// is left out. The bars are the quotients of opposite quartiles.
/// @return nothing if no stage is left
std::optional<Figure> speed_ups(const std::vector<Result>& results, const std::string& network);

/// Attainable speed over arithmetic intensity, with the stages of one network at its largest batch
/// on a GPU. The intensity is that of the convolution itself, each input and output moved once. So
/// all stages of a layer stand above each other, and the distance from a stage to the roof is what
/// it can still gain. The limit of fp16 is drawn only if a stage uses tensor cores.
/// @return nothing if no run has times, or the limits of its machine are unknown
std::optional<Figure> roofline(const std::vector<Result>& results, const std::string& network);

/// The figures of a network; each if the results have the data.
/// @param rows  the results of op times and speed-ups, which may be fewer
std::vector<Figure> figures_of(const std::vector<Result>& results, const std::vector<Result>& rows,
                               const std::string& network);

}  // namespace convlab::grader
