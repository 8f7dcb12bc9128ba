#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "common/timing/statistics.hpp"
#include "grader/report/plots/figure.hpp"

namespace convlab::grader {

/// A run that has op times worth drawing, with the result that it comes from.
struct PlottedRun {
  const RunResult* run;
  const Result* result;
  std::vector<Spread> op_ms;  ///< of each convolution, and last of their sum
};

/// The results of these files, in their order; they are read on all cores.
/// @throws EnvironmentError that names a file that cannot be read
std::vector<Result> read_results(const std::vector<std::filesystem::path>& files);

/// The runs of one network in drawing order: by milestone, place on the ladder, stage,
/// solution and batch. Emulated times, failed runs and runs without samples are left out; of two
/// runs of the same stage at the same batch the one in the later file counts. The pointers point
/// into `results`.
std::vector<PlottedRun> plotted_runs(std::span<const Result> results, const std::string& network);

/// Networks that the results have times for, in the order of their appearance.
std::vector<std::string> networks_of(const std::vector<Result>& results);

/// The run that runs[index] is compared with: of those before it the nearest of the same batch and
/// solution, of the stage that it names as its baseline, if it names one. Null if there is none.
const PlottedRun* baseline_of(const std::vector<PlottedRun>& runs, std::size_t index);

/// The milestone and the stage; of a task of the course, which has its stage's name, the task.
std::string full_name(const PlottedRun& run);

/// "m3 tiled-shared": names a stage where its title would be too long. The solution follows if
/// `runs` holds several of the stage.
std::string short_name(const PlottedRun& run, const std::vector<PlottedRun>& runs);

/// What a reader needs to trust the numbers: machines, compilers, samples, commits, dates.
std::string caption_of(const std::vector<PlottedRun>& runs, const std::string& network);

/// The figures of a network, each if the results have the data: op times, stage by stage, a panel
/// per batch, with bounds and libraries; what each step gained over its baseline, from medians at
/// the same batch (see baseline_of); a roofline of the largest batch on a GPU.
std::vector<Figure> figures_of(const std::vector<Result>& results, const std::string& network);

}  // namespace convlab::grader
