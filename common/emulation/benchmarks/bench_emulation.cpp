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

void host_loop(benchmark::State& state, const convlab::ConvShape& size) {
  const std::vector<float> input(static_cast<std::size_t>(size.input_size()));
  const std::vector<float> weights(static_cast<std::size_t>(size.weights_size()));
  std::vector<float> output(static_cast<std::size_t>(size.output_size()));
  for ([[maybe_unused]] auto _ : state) {
    convolve_on_host(input.data(), weights.data(), output.data(), size);
    benchmark::DoNotOptimize(output.data());
    benchmark::ClobberMemory();
  }
}

void naive(benchmark::State& state, const convlab::ConvShape& size) {
  EmulatedConvolution layer(size);
  for ([[maybe_unused]] auto _ : state) layer.run_naive();
}

void tiled(benchmark::State& state, const convlab::ConvShape& size) {
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
  const LiveMemory memory(std::vector<std::size_t>(
      static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)) << 20U));
  for ([[maybe_unused]] auto _ : state) run_empty();
}

void timed(benchmark::internal::Benchmark* each) {
  each->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
}

}  // namespace

BENCHMARK_CAPTURE(host_loop, op1, kFirstLayer)->Apply(timed);
BENCHMARK_CAPTURE(naive, op1, kFirstLayer)->Apply(timed);
BENCHMARK_CAPTURE(tiled, op1, kFirstLayer)->Apply(timed);
BENCHMARK_CAPTURE(host_loop, op2, kSecondLayer)->Apply(timed);
BENCHMARK_CAPTURE(naive, op2, kSecondLayer)->Apply(timed);
BENCHMARK_CAPTURE(tiled, op2, kSecondLayer)->Apply(timed);
BENCHMARK_CAPTURE(per_operation, barrier, &run_barriers, 256)->Apply(timed);
BENCHMARK_CAPTURE(per_operation, shuffle, &run_shuffles, 256)->Apply(timed);
BENCHMARK_CAPTURE(per_operation, matrix_product, &run_products, 8)->Apply(timed);
BENCHMARK(launch)
    ->ArgNames({"pieces", "MiB"})
    ->Args({0, 0})
    ->Args({10, 1})
    ->Args({10, 100})
    ->Args({1000, 1})
    ->Apply(timed)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_MAIN();
