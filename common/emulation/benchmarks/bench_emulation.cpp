// Speed of device emulation, next to a plain host loop in the same run.
//
//   build/bin/bench_emulation --benchmark_repetitions=5
//
// "host_loop" is one thread; kernels use all cores. "per_operation" is the time of one barrier or
// one shuffle of one thread, or of one matrix product of one warp, on one core: wall time × cores /
// operations. "launch" is an empty kernel beside so many pieces of device memory.

#include <benchmark/benchmark.h>

#include <thread>
#include <vector>

#include "common/emulation/benchmarks/kernels.cuh"

namespace {

void host_loop(benchmark::State& state, const ConvolutionSize& size) {
  const std::vector<float> input(size.inputs());
  const std::vector<float> weights(size.weights());
  std::vector<float> output(size.outputs());
  for ([[maybe_unused]] auto _ : state) {
    convolve_on_host(input.data(), weights.data(), output.data(), size);
    benchmark::DoNotOptimize(output.data());
    benchmark::ClobberMemory();
  }
}

void naive(benchmark::State& state, const ConvolutionSize& size) {
  EmulatedConvolution layer(size);
  for ([[maybe_unused]] auto _ : state) layer.run_naive();
}

void tiled(benchmark::State& state, const ConvolutionSize& size) {
  EmulatedConvolution layer(size);
  for ([[maybe_unused]] auto _ : state) layer.run_tiled();
}

constexpr int kBlocks = 64;
constexpr int kOperations = 200;

/// @param actors  how many make the operation in a block: its threads, or its warps
void per_operation(benchmark::State& state, void (*run)(int, int), int actors) {
  for ([[maybe_unused]] auto _ : state) run(kBlocks, kOperations);
  const double operations =
      static_cast<double>(state.iterations()) * kBlocks * actors * kOperations;
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  state.counters["per_operation"] = benchmark::Counter(
      operations / cores, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Each allocation is opened before a kernel and closed after it, which takes time.
void launch(benchmark::State& state) {
  const LiveMemory memory(static_cast<int>(state.range(0)), static_cast<std::size_t>(state.range(1))
                                                                << 20U);
  for ([[maybe_unused]] auto _ : state) run_empty();
}

}  // namespace

BENCHMARK_CAPTURE(host_loop, op1, kFirstLayer)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(naive, op1, kFirstLayer)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tiled, op1, kFirstLayer)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(host_loop, op2, kSecondLayer)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(naive, op2, kSecondLayer)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tiled, op2, kSecondLayer)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(per_operation, barrier, &run_barriers, 256)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(per_operation, shuffle, &run_shuffles, 256)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(per_operation, matrix_product, &run_products, 8)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(launch)
    ->ArgNames({"pieces", "MiB"})
    ->Args({0, 0})
    ->Args({10, 1})
    ->Args({10, 100})
    ->Args({1000, 1})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_MAIN();
