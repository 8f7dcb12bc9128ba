// Resizing the images to the input of each network.
// Run: build/bin/bench_resize

#include <benchmark/benchmark.h>

#include "common/data/dataset.hpp"
#include "common/data/resize.hpp"

namespace {

void bm_resize(benchmark::State& state) {
  const auto count = static_cast<int>(state.range(0));
  const auto size = static_cast<int>(state.range(1));
  const convlab::Dataset dataset = convlab::synthetic_dataset(count, 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(convlab::resize_images(dataset, count, size));
  }
  state.SetItemsProcessed(state.iterations() * count);
}

}  // namespace

BENCHMARK(bm_resize)
    ->ArgNames({"images", "size"})
    ->ArgsProduct({{10000}, {28, 48, 64, 70, 72, 86}})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

BENCHMARK_MAIN();
