#include "common/milestone/run_stage.hpp"

#include <memory>

#include "common/timing/stopwatch.hpp"

namespace convlab {

PhaseTimes run_stage(const Stage& stage, const ConvShape& shape, const float* input,
                     const float* weights, float* output) {
  const std::unique_ptr<Convolution> convolution = stage.make();
  PhaseTimes times;
  const Stopwatch layer;
  convolution->prolog(shape, input, weights, output);
  const Stopwatch op;
  convolution->convolve();
  times.op_ms = op.milliseconds();
  convolution->epilog();
  times.layer_ms = layer.milliseconds();
  return times;
}

}  // namespace convlab
