// The oracle's comparison on the two convolutions of the default network, 10 000 images.
// Memory: input and output of one layer; /usr/bin/time -v shows the peak at its end.
#include <benchmark/benchmark.h>

#include <vector>

#include "reference/oracle/comparison.hpp"

using namespace convlab;

namespace {

constexpr ConvShape kOp1{
    .batch = 10000, .out_channels = 4, .in_channels = 1, .height = 86, .width = 86, .kernel = 7};
constexpr ConvShape kOp2{
    .batch = 10000, .out_channels = 16, .in_channels = 4, .height = 40, .width = 40, .kernel = 7};

// All inputs 1: the right output is the number of taps, and every row takes the fast path.
void compare(benchmark::State& state, const ConvShape& shape) {
  const std::vector<float> input(static_cast<std::size_t>(shape.input_size()), 1.0f);
  const std::vector<float> weights(static_cast<std::size_t>(shape.weights_size()), 1.0f);
  const std::vector<float> output(static_cast<std::size_t>(shape.output_size()),
                                  static_cast<float>(shape.taps()));
  for (auto _ : state) {
    const auto report = oracle::compare(shape, input.data(), weights.data(), output.data(),
                                        oracle::Tolerance::of(Precision::kFp32, shape));
    if (!report.passed(shape)) state.SkipWithError("the comparison found an error");
  }
  state.counters["Gmadd/s"] = benchmark::Counter(static_cast<double>(shape.multiply_adds()) * 1e-9,
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK_CAPTURE(compare, fa23_op1, kOp1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(compare, fa23_op2, kOp2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
