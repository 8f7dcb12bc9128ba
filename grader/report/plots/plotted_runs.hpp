#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/result/result.hpp"
#include "grader/report/plots/gnuplot.hpp"

namespace convlab::grader {

/// A run that has op times worth drawing, with the result that it comes from.
struct PlottedRun {
  const RunResult* run;
  const Result* result;
};

/// One time, or one ratio of times, with its quartiles.
struct PlottedPoint {
  double median = 0.0;
  double low = 0.0;
  double high = 0.0;
};

/// The results of these files, in their order; they are read on all cores.
/// @throws EnvironmentError that names a file that cannot be read
std::vector<Result> read_results(const std::vector<std::filesystem::path>& files);

/// Op times of a run, in milliseconds.
struct PlottedTimes {
  std::vector<PlottedPoint> layers;
  PlottedPoint sum{};
};

/// The runs of one network in drawing order: by milestone, place on the ladder, stage,
/// solution and batch. Emulated times, failed runs and runs without samples are left out; of two
/// runs of the same stage at the same batch the one in the later file counts. The pointers point
/// into `results`.
std::vector<PlottedRun> plotted_runs(std::span<const Result> results, const std::string& network);

/// Networks that the results have times for, in the order of their appearance.
std::vector<std::string> networks_of(const std::vector<Result>& results);

PlottedTimes times_of(const RunResult& run);

/// The run that runs[index] is compared with: of those before it the nearest of the same batch and
/// solution, of the stage that it names as its baseline, if it names one. Null if there is none.
const PlottedRun* baseline_of(const std::vector<PlottedRun>& runs, std::size_t index);

/// "a, b".
std::string joined(const std::set<std::string>& parts);

/// "m3 tiled-shared": names a stage where its title would be too long. The solution follows if
/// `runs` holds several of the stage.
std::string short_name(const PlottedRun& run, const std::vector<PlottedRun>& runs);

/// What a reader needs to trust the numbers: machines, compilers, samples, commits, dates.
/// @param bars  what the bars of a picture mean; empty where there are none
std::string caption_of(const std::vector<PlottedRun>& runs, const std::string& network,
                       const std::string& bars = "middle half");

}  // namespace convlab::grader
