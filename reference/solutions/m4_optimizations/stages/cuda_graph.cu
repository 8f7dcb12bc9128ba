// All work of a convolution submitted as one graph.
//
// Idea     A launch costs some microseconds on its way from the program to the GPU. At 10 000
//          images nobody notices; at 100 the kernels of per-layer run for 10 to 20 of them. What is
//          submitted is the same each time: record it once as a graph, check and prepare it once,
//          and submit the whole graph with one call.
// Picture  per-layer     submit copy of the weights, submit kernel       two ways to the GPU
//          cuda-graph    submit graph { copy of the weights → kernel }   one
//          captured_graph.cuh has the calls.
//
// Cost     recording and preparing the graph, some 10 to 100 microseconds, in the prolog: it knows
//          sizes and pointers, not the data. Layer time pays for it, op time does not.
// Expect   some microseconds less at small batches, most for the first convolution, whose weights
//          are copied to constant memory before its kernel; nothing at large batches. Graphs pay
//          with dozens of small kernels: a whole network, not one layer.
// Run      build/bin/m4 100 --stage cuda-graph --solution reference

#include <cuda_runtime.h>

#include "captured_graph.cuh"
#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m4_optimizations/per_layer.cuh"

namespace {

class CudaGraph final : public convlab::DeviceConvolution {
  void prepare() override {
    graph_ = convlab::CapturedGraph([this](cudaStream_t stream) {
      convlab::per_layer::convolve(device_output(), device_input(), device_weights(), shape(),
                                   stream);
    });
  }
  void release() override { graph_ = {}; }

  void launch(float* /*output*/, const float* /*input*/, const float* /*weights*/,
              const convlab::ConvShape& /*shape*/) override {
    graph_.launch();  // which knows the arguments
  }

  convlab::CapturedGraph graph_;
};

const convlab::LadderStage<CudaGraph> stage("cuda-graph", "Copy and kernel submitted as one graph");

}  // namespace
