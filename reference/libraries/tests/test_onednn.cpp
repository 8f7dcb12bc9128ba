#include "common/base/tests/support/catch.hpp"
#include "common/stage/stage.hpp"
#include "reference/libraries/benchmarks/timed_layer.hpp"
#include "reference/oracle/comparison.hpp"

using namespace convlab;

TEST_CASE("onednn: computes our convolutions in both layouts, as every stage does") {
  int libraries = 0;
  for (const auto& layer : timed_layers("fa23", 3)) {
    for (const Stage& stage : registered_stages()) {
      INFO(stage.id << ", " << layer->name);
      const auto convolution = stage.make();
      convolution->prolog(layer->shape, layer->input.data(), layer->weights.data(),
                          layer->output.data());
      convolution->convolve();
      convolution->epilog();
      const auto report = oracle::compare(layer->shape, layer->input.data(), layer->weights.data(),
                                          layer->output.data(),
                                          oracle::Tolerance::of(stage.precision, layer->shape));
      CHECK(report.passed(layer->shape));
      std::fill(layer->output.begin(), layer->output.end(), 0.0F);
      libraries += stage.id.starts_with("onednn") ? 1 : 0;
    }
  }
  CHECK(libraries == 4);
}
