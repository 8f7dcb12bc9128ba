// CUDA cores near their limit.
//
// Idea     Without tensor cores the second layer of fa23 needs 36 billion multiply-adds at 10 000
//          images: at least 1.08 ms on an H200, and 0.38 ms for the first. Every other instruction
//          takes additional time. So each thread keeps a block of sums in registers and uses each
//          loaded value often.
// Picture  direct_convolution.cuh
//          captured_graph.cuh: three steps, of which two only bring the weights, are one graph
// Cost     second layer: 6 loads of four pixels and 14 loads of weights for 476 multiply-adds
// Expect   80 to 85 % of the limit: nearly every cycle issues an instruction, and one in twelve is
//          a load, part of a loop, or the beginning or end of a thread.
// Run      build/bin/m4 10000 --stage direct-fp32 --solution reference
//          build/bin/grader check m4 --stage direct-fp32 --solution reference

#include <cuda_runtime.h>

#include "captured_graph.cuh"
#include "common/stage/device_convolution.cuh"
#include "direct_convolution.cuh"
#include "reference/solutions/m4_optimizations/any_shape.cuh"

namespace {

using convlab::direct::DirectLayer;
using convlab::direct::launch_direct;

class DirectFp32 final : public convlab::DeviceConvolution {
  void prepare() override {
    ordered_ = convlab::DeviceBuffer<float>(convlab::direct::kConstantFloats);
    graph_ = convlab::CapturedGraph([this](cudaStream_t stream) { submit(stream); });
  }
  void release() override {
    graph_ = {};
    ordered_ = {};
  }

  void launch(float* /*output*/, const float* /*input*/, const float* /*weights*/,
              const convlab::ConvShape& /*shape*/) override {
    graph_.launch();  // the graph holds the arguments
  }

  void submit(cudaStream_t stream) {
    const auto fits = [&](auto layer) {
      return launch_direct<decltype(layer)>(device_output(), device_input(), device_weights(),
                                            ordered_.data(), shape(), stream);
    };
    const bool done = fits(DirectLayer<1, 4, 7, 86, 10, 4, 24>{}) ||  // fa23
                      fits(DirectLayer<4, 16, 7, 40, 17, 4, 20>{}) ||
                      fits(DirectLayer<1, 12, 5, 70, 11, 4, 24>{}) ||  // fa19
                      fits(DirectLayer<12, 24, 5, 33, 29, 4, 12>{}) ||
                      fits(DirectLayer<1, 12, 7, 72, 11, 6, 20>{}) ||  // fa18
                      fits(DirectLayer<12, 24, 7, 33, 27, 4, 12>{}) ||
                      fits(DirectLayer<1, 6, 5, 64, 10, 6, 20>{}) ||  // sp18
                      fits(DirectLayer<6, 16, 5, 30, 26, 4, 16>{});
    if (done) return;
    convlab::convolve_any_shape(device_output(), device_input(), device_weights(), shape(), stream);
  }

  convlab::CapturedGraph graph_;
  convlab::DeviceBuffer<float> ordered_;  // weights in the order of constant memory
};

const convlab::LadderStage<DirectFp32> stage("direct-fp32", "CUDA cores near their limit");

}  // namespace
