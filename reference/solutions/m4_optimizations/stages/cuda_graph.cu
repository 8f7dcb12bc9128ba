// All work of a convolution launched as one graph.
//
// Idea     A launch takes some microseconds from the program to the GPU. At 10 000 images that does
//          not matter; at 100 the kernels of per-layer run for only 10 to 20 µs. The launches are
//          the same each time: record them once as a graph, prepare it once, and launch the whole
//          graph with one call.
// Picture  per-layer     launch copy of the weights, launch kernel       two calls
//          cuda-graph    launch graph { copy of the weights → kernel }   one call
//          captured_graph.cuh has the calls.
//
// Cost     recording and preparing the graph take some 10 to 100 microseconds, in the prolog: a
//          graph holds sizes and pointers, not the data. Layer time includes this, op time does
//          not.
// Expect   some microseconds less at small batches, most for the first convolution, whose weights
//          are copied to constant memory before its kernel. No gain at large batches. Graphs pay
//          for dozens of small kernels: a whole network, not one layer.
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
    graph_.launch();  // the graph holds the arguments
  }

  convlab::CapturedGraph graph_;
};

const convlab::LadderStage<CudaGraph> stage("cuda-graph", "Copy and kernel submitted as one graph");

}  // namespace
