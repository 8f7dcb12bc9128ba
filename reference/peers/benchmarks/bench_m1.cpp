// Every CPU stage and oneDNN on the convolutions of a network.
//
//     build/bin/bench_m1 --benchmark_filter='vectorized|onednn' --benchmark_repetitions=10
//                        --benchmark_enable_random_interleaving=true
//
// --network and --batch choose the work (default fa23, 1000). For ratios with their spread see
// compare_m1.

#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "common/base/error.hpp"
#include "common/network/preset.hpp"
#include "reference/peers/cpu_contender.hpp"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // takes its own arguments out of argv
  CLI::App app("CPU stages and oneDNN on the convolutions of a network.");
  std::string network = convlab::kDefaultPreset;
  int batch = 1000;
  app.add_option("--network", network, "preset")
      ->check(CLI::IsMember(convlab::preset_names()))
      ->capture_default_str();
  app.add_option("--batch", batch, "images")->check(CLI::Range(1, 10000))->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(convlab::ExitCode::kUsage);
  }

  const auto layers = convlab::timed_layers(network, batch);
  for (const convlab::Contender& contender : convlab::cpu_contenders()) {
    for (const auto& layer : layers) {
      benchmark::RegisterBenchmark(
          (contender.name + "/" + layer->name).c_str(),
          [contender, &layer](benchmark::State& state) {
            const std::function<void()> convolve = contender.prepare(*layer);
            convolve();
            for (auto _ : state) convolve();
            state.counters["GFLOP/s"] =
                benchmark::Counter(2.0 * static_cast<double>(layer->shape.multiply_adds()) / 1e9,
                                   benchmark::Counter::kIsIterationInvariantRate);
          })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
