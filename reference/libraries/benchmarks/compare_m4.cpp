// The stages of milestone 4 against cuDNN, in turns on one GPU.
//
// A round times each contender once on each layer, so that a changing clock affects all alike.
// All contenders hold their arrays at the same time: at batch 10 000 of the default network 2.5 GB
// each.
//
//     build/bin/compare_m4                                   all stages and cuDNN, batch 1000
//     build/bin/compare_m4 --batches 100,10000 --json build/libraries.json
//     build/bin/grader plot build/m4.json build/libraries.json
//
// The file is one of docs/results.md, so that tables and plots have a row for each contender.
// Outputs are compared with the exact values of the first images, in the class that a
// stage declares.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/run_program.hpp"
#include "common/device/cuda_session.hpp"
#include "common/device/device_session.hpp"
#include "common/network/preset.hpp"
#include "common/result/result.hpp"
#include "common/stage/stage.hpp"
#include "common/timing/statistics.hpp"
#include "reference/libraries/benchmarks/timed_layer.hpp"
#include "reference/oracle/comparison.hpp"

namespace {

using namespace convlab;

constexpr int kCheckedImages = 32;

/// A stage with its convolution of the layer that is timed just now.
struct Contender {
  Stage stage;
  std::unique_ptr<Convolution> convolution;
  RunResult result;
};

void start(Contender& contender, TimedLayer& layer, DeviceSession& device) {
  contender.convolution = contender.stage.make();
  contender.convolution->prolog(layer.shape, layer.input.data(), layer.weights.data(),
                                layer.output.data());
  device.fence("prolog");
  LayerResult timed;
  timed.shape = layer.shape;
  device.time([&] { contender.convolution->convolve(); });
  contender.result.layers.push_back(timed);
}

void take_turns(std::vector<Contender>& contenders, int rounds, DeviceSession& device) {
  for (int round = 0; round < rounds; ++round) {
    for (Contender& contender : contenders) {
      const OpSample sample = device.time([&] { contender.convolution->convolve(); });
      LayerResult& layer = contender.result.layers.back();
      layer.samples.push_back(sample);
      layer.op_ms.push_back(sample.score_ms());
    }
  }
}

/// Computes once more, because all share the output's array and some stages write it in convolve;
/// copies the output back, frees the device's arrays and compares the first images.
void finish(Contender& contender, TimedLayer& layer, DeviceSession& device) {
  std::fill(layer.output.begin(), layer.output.end(), 0.0f);
  contender.convolution->convolve();
  device.fence("convolve");
  contender.convolution->epilog();
  device.fence("epilog");
  contender.convolution.reset();
  LayerResult& timed = contender.result.layers.back();
  mark_slowed(timed.samples);
  ConvShape first = layer.shape;
  first.batch = std::min(first.batch, kCheckedImages);
  const oracle::ErrorReport report =
      oracle::compare(first, layer.input.data(), layer.weights.data(), layer.output.data(),
                      oracle::Tolerance::of(contender.stage.precision, first));
  timed.error = ErrorMeasure{.compared = report.compared,
                             .wrong = report.wrong,
                             .worst_ratio = report.worst_ratio,
                             .bound = report.bound};
  if (!report.passed(first)) contender.result.verdict = Verdict::kFailed;
}

void print_table(const std::vector<Contender>& contenders) {
  std::printf("| contender | precision | op1 ms | op2 ms | … sum of medians | error |\n");
  std::printf("|---|---|--:|--:|--:|---|\n");
  for (const Contender& contender : contenders) {
    std::printf("| %s | %s |", contender.stage.id.c_str(), to_string(contender.stage.precision));
    double sum = 0.0;
    double worst = 0.0;
    for (const LayerResult& layer : contender.result.layers) {
      const double median = spread_of(layer.op_ms).median;
      std::printf(" %.3f |", median);
      sum += median;
      worst = std::max(worst, layer.error->worst_ratio);
    }
    std::printf(" %.3f | %.3g%s |\n", sum, worst,
                contender.result.verdict == Verdict::kFailed ? ", too large" : "");
  }
}

struct Options {
  std::string network = kDefaultPreset;
  std::string json;
  std::vector<int> batches = {1000};
  int rounds = 21;
  std::vector<std::string> stages;
};

// Measures all contenders at one batch and prints their table.
std::vector<RunResult> compare_at(int batch, const Options& options, DeviceSession& device) {
  const auto layers = timed_layers(options.network, batch);
  std::vector<Contender> contenders;
  for (const std::string& id : options.stages) {
    Contender contender{.stage = find_stage(id), .convolution = nullptr, .result = {}};
    require_capability(device.info(), contender.stage.needs, ("Stage '" + id + "'").c_str());
    contender.result.network = options.network;
    contender.result.batch = batch;
    contender.result.stage = info_of(contender.stage);
    contender.result.device = device.info().device;
    contender.result.verdict = Verdict::kPassed;
    contenders.push_back(std::move(contender));
  }
  for (const auto& layer : layers) {
    for (Contender& contender : contenders) start(contender, *layer, device);
    take_turns(contenders, options.rounds, device);
    for (Contender& contender : contenders) finish(contender, *layer, device);
  }
  std::printf("Network %s, batch %d, %s, %d rounds in turns\n\n", options.network.c_str(), batch,
              device.info().name.c_str(), options.rounds);
  print_table(contenders);
  std::vector<RunResult> runs;
  for (Contender& contender : contenders) runs.push_back(std::move(contender.result));
  return runs;
}

ExitCode compare(const Options& options) {
  const std::unique_ptr<DeviceSession> device = open_cuda_session();
  Result result;
  result.program = "compare_m4";
  result.milestone = "m4";
  result.solution = "reference";
  result.created = utc_now();
  result.machine = describe_machine();
  bool all_right = true;
  for (const int batch : options.batches) {
    for (RunResult& run : compare_at(batch, options, *device)) {
      all_right = all_right && run.verdict == Verdict::kPassed;
      result.runs.push_back(std::move(run));
    }
  }
  add_device(result, device->measure());
  if (!options.json.empty()) write_result(options.json, result);
  return all_right ? ExitCode::kPassed : ExitCode::kFallsShort;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<std::string> known;
  for (const Stage& stage : registered_stages()) known.push_back(stage.id);
  options.stages = known;
  CLI::App app("The stages of milestone 4 and cuDNN, in turns on one GPU.", "compare_m4");
  app.add_option("--network", options.network, "preset")
      ->check(CLI::IsMember(preset_names()))
      ->capture_default_str();
  app.add_option("--batches", options.batches, "images")
      ->delimiter(',')
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "samples")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--stages", options.stages, "who takes part (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(known));
  app.add_option("--json", options.json, "also write all samples to this file");
  app.footer(
      "Examples:\n"
      "  build/bin/compare_m4 --batches 100,10000 --json build/libraries.json\n"
      "  build/bin/compare_m4 --stages mma-ptx,cudnn,cudnn-tf32,cudnn-fp16 --rounds 51");
  return run_program(app, argc, argv, [&] { return compare(options); });
}
