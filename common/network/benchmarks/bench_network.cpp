// Everything of the forward pass except the convolutions, 10 000 images, per preset.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "common/network/network.hpp"

using namespace convlab;

namespace {

void forward_without_convolutions(benchmark::State& state, const std::string& name) {
  const Preset preset = load_preset(name);
  Weights weights = empty_weights(preset);
  for (Parameter& parameter : weights.parameters) {
    std::size_t size = 1;
    for (int dim : parameter.dims) size *= static_cast<std::size_t>(dim);
    parameter.values.assign(size, 0.01f);
  }
  const Network network(preset, weights);
  constexpr int kBatch = 10000;
  const std::vector<float> images(
      static_cast<std::size_t>(kBatch) * preset.image_size * preset.image_size, 0.5f);
  for (auto _ : state) {
    benchmark::DoNotOptimize(network.forward(
        images, kBatch, [](int, const ConvShape&, const float*, const float*, float*) {}));
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::string& name : preset_names()) {
    benchmark::RegisterBenchmark(("forward_without_convolutions/" + name).c_str(),
                                 forward_without_convolutions, name)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
