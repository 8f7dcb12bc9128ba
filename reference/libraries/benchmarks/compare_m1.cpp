// CPU stages against oneDNN, as ratios.
//
// On a busy machine times drift, but the ratio of two times taken one right after the other does
// not. So the contenders take turns: a round runs each of them once on every layer. The ratio is
// that of the two sums in the same round; the table has its median and quartiles over all rounds.
//
//     build/bin/compare_m1 --rounds 21
//     build/bin/compare_m1 --network fa16 --contenders per-layer,onednn-blocked
//     build/bin/compare_m1 --cpu-time        on a busy machine: processor time, one thread

#include <omp.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/run_program.hpp"
#include "common/network/preset.hpp"
#include "common/stage/stage.hpp"
#include "common/timing/statistics.hpp"
#include "reference/libraries/benchmarks/timed_layer.hpp"

namespace {

using convlab::Spread;
using convlab::Stage;

enum class Clock {
  kWall,
  kProcessor,  // of the whole process, so for one thread only: others may burn it while they wait
};

double milliseconds(Clock clock) {
  timespec now{};
  clock_gettime(clock == Clock::kWall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct Run {
  std::string name;
  std::vector<std::unique_ptr<convlab::Convolution>> layers;
  std::vector<std::vector<double>> layer_times;  // [layer][round], milliseconds
  std::vector<double> sums;                      // [round]
};

// The sums of `run` over those of `other`, round by round: above 1, `other` is faster.
Spread ratio(const Run& run, const Run& other) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < run.sums.size(); ++i) ratios.push_back(run.sums[i] / other.sums[i]);
  return convlab::spread_of(ratios);
}

void take_turns(std::vector<Run>& runs, int rounds, Clock clock) {
  for (Run& run : runs) {
    for (const auto& layer : run.layers) layer->convolve();  // the first time is cold
  }
  for (int round = 0; round < rounds; ++round) {
    for (Run& run : runs) {
      double sum = 0.0;
      for (std::size_t i = 0; i < run.layers.size(); ++i) {
        const double start = milliseconds(clock);
        run.layers[i]->convolve();
        const double time = milliseconds(clock) - start;
        run.layer_times[i].push_back(time);
        sum += time;
      }
      run.sums.push_back(sum);
    }
  }
}

void print_table(const std::vector<Run>& runs) {
  const std::size_t layers = runs.front().layer_times.size();
  std::printf("| contender |");
  for (std::size_t i = 1; i <= layers; ++i) std::printf(" op%zu ms |", i);
  std::printf(" sum ms, median [quartiles] |");
  std::vector<const Run*> libraries;
  for (const Run& run : runs) {
    if (run.name.rfind("onednn", 0) == 0) libraries.push_back(&run);
  }
  for (const Run* library : libraries) std::printf(" times as fast as %s |", library->name.c_str());
  std::printf("\n|---|");
  for (std::size_t i = 0; i < layers + 1 + libraries.size(); ++i) std::printf("--:|");
  std::printf("\n");
  for (const Run& run : runs) {
    const Spread sum = convlab::spread_of(run.sums);
    std::printf("| %s |", run.name.c_str());
    for (const auto& times : run.layer_times) {
      std::printf(" %.1f |", convlab::spread_of(times).median);
    }
    std::printf(" %.1f [%.1f, %.1f] |", sum.median, sum.lower_quartile, sum.upper_quartile);
    for (const Run* library : libraries) {
      const Spread faster = ratio(*library, run);
      std::printf(" %.2f [%.2f, %.2f] |", faster.median, faster.lower_quartile,
                  faster.upper_quartile);
    }
    std::printf("\n");
  }
}

void compare(const std::string& network, int batch, int rounds,
             const std::vector<std::string>& names, Clock clock) {
  const auto layers = convlab::timed_layers(network, batch);
  std::vector<Run> runs;
  for (const Stage& stage : convlab::registered_stages()) {
    if (std::find(names.begin(), names.end(), stage.id) == names.end()) continue;
    Run run{.name = stage.id, .layers = {}, .layer_times = {}, .sums = {}};
    for (const auto& layer : layers) {
      run.layers.push_back(stage.make());
      run.layers.back()->prolog(layer->shape, layer->input.data(), layer->weights.data(),
                                layer->output.data());
    }
    run.layer_times.resize(layers.size());
    runs.push_back(std::move(run));
  }
  std::printf("Network %s, batch %d, threads: %d, %s time, %d rounds in turns\n\n", network.c_str(),
              batch, omp_get_max_threads(), clock == Clock::kWall ? "wall" : "processor", rounds);
  take_turns(runs, rounds, clock);
  print_table(runs);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> known;
  std::vector<std::string> names;
  for (const Stage& stage : convlab::registered_stages()) {
    known.push_back(stage.id);
    // These two take seconds per round.
    if (stage.id != "baseline" && stage.id != "openmp") names.push_back(stage.id);
  }
  std::string network = convlab::kDefaultPreset;
  int batch = 1000;
  int rounds = 21;
  bool cpu_time = false;
  CLI::App app("CPU stages against oneDNN, in turns, as ratios.", "compare_m1");
  app.add_option("--network", network, "preset")
      ->check(CLI::IsMember(convlab::preset_names()))
      ->capture_default_str();
  app.add_option("--batch", batch, "images")->check(CLI::Range(1, 10000))->capture_default_str();
  app.add_option("--rounds", rounds, "samples")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--contenders", names, "who takes part (default: all but the slowest)")
      ->delimiter(',')
      ->check(CLI::IsMember(known));
  app.add_flag("--cpu-time", cpu_time, "processor time of one thread, for a busy machine");
  app.footer(
      "Examples:\n"
      "  build/bin/compare_m1                                      all but the slowest\n"
      "  build/bin/compare_m1 --contenders per-layer,onednn-blocked --rounds 51\n"
      "  build/bin/compare_m1 --network fa16 --cpu-time            on a busy machine");
  return convlab::run_program(app, argc, argv, [&] {
    if (cpu_time) omp_set_num_threads(1);
    compare(network, batch, rounds, names, cpu_time ? Clock::kProcessor : Clock::kWall);
    return convlab::ExitCode::kPassed;
  });
}
