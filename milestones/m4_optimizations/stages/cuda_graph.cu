// All work of a convolution launched as one graph.
//
// Idea     A launch takes some microseconds from the program to the GPU. At 10 000 images that does
//          not matter; at 100 the kernels of per-layer run for only 10 to 20 µs. The launches are
//          the same each time: record them once as a graph, prepare it once, and launch the whole
//          graph with one call.
// Picture  per-layer     launch copy of the weights, launch kernel       two calls
//          cuda-graph    launch graph { copy of the weights → kernel }   one call
//
// Cost     recording and preparing the graph take some 10 to 100 microseconds, in the prolog: a
//          graph holds sizes and pointers, not the data. Layer time includes this, op time does
//          not.
// Expect   some microseconds less at small batches, most for the first convolution, whose weights
//          are copied to constant memory before its kernel. No gain at large batches. Graphs pay
//          for dozens of small kernels: a whole network, not one layer.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage cuda-graph
//          build/bin/grader check m4 --stage cuda-graph
// Read     docs/ladder/cuda-graph.md

#include <cuda_runtime.h>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"
#include "common/device/device_buffer.cuh"
#include "common/stage/stage.hpp"

namespace {

using convlab::ConvShape;

class CudaGraph : public convlab::Convolution {
 public:
  /// Allocates, copies in, and records what convolve launches. Fill in: about 25 lines. The calls:
  ///
  ///     cudaStreamCreate(&stream);
  ///     cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  ///     …                                     // your launches on this stream: they do not run yet
  ///     cudaStreamEndCapture(stream, &graph);
  ///     cudaGraphInstantiate(&graph_, graph, 0);
  ///     cudaGraphUpload(graph_, stream);      // or the first launch does it, inside the op time
  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/cuda_graph.cu");
  }

  /// cudaGraphLaunch(graph_, nullptr), nothing else: 1 line.
  void convolve() override {}

  /// Copies out and frees: about 8 lines.
  void epilog() override {}

 private:
  convlab::DeviceBuffer<float> input_;
  convlab::DeviceBuffer<float> weights_;
  convlab::DeviceBuffer<float> output_;
  // and a cudaGraphExec_t graph_.
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<CudaGraph> stage("cuda-graph", "Your convolution as one graph");

}  // namespace
