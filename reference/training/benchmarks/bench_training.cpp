// One step of training, of a batch of 100, for each network.
// Run: build/bin/bench_training

#include <benchmark/benchmark.h>

#include "common/data/dataset.hpp"
#include "reference/training/model.hpp"

namespace {

constexpr int kBatch = 100;

// Multiply-adds of forward, weight gradient and, except for the first layer, input gradient.
double multiply_adds(const convlab::Preset& preset) {
  const auto shapes = preset.feature_shapes();
  double sum = 0;
  for (std::size_t i = 0; i < preset.layers.size(); ++i) {
    double own = 0;
    if (const auto* conv = std::get_if<convlab::ConvLayer>(&preset.layers[i])) {
      own = static_cast<double>(shapes[i + 1].size()) * shapes[i].channels * conv->kernel *
            conv->kernel;
    } else if (const auto* dense = std::get_if<convlab::DenseLayer>(&preset.layers[i])) {
      own = static_cast<double>(shapes[i].size()) * dense->units;
    }
    sum += i == 0 ? 2 * own : 3 * own;
  }
  return sum * kBatch;
}

void bm_step(benchmark::State& state, const std::string& name) {
  const convlab::Preset preset = convlab::load_preset(name);
  convlab::Dataset data{.count = kBatch, .height = 28, .width = 28, .images = {}, .labels = {}};
  for (int i = 0; i < kBatch * 28 * 28; ++i) data.images.push_back(static_cast<std::uint8_t>(i));
  for (int i = 0; i < kBatch; ++i) data.labels.push_back(static_cast<std::uint8_t>(i % 10));
  const convlab::Buffer images = convlab::resize_images(data, kBatch, preset.image_size);
  convlab::training::Model model(preset, 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(model.step(images.data(), data.labels.data(), kBatch));
  }
  state.counters["FLOP/s"] =
      benchmark::Counter(2 * multiply_adds(preset), benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const std::string& name : convlab::preset_names()) {
    benchmark::RegisterBenchmark(("step/" + name).c_str(), bm_step, name)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  }
  benchmark::RunSpecifiedBenchmarks();
}
