// The library's convolution.
//
// Idea     cuDNN has several algorithms for the convolution, and a search that times them on your
//          shape. The rest of your ladder is compared with it.
// Picture  four descriptors (input, weights, output, convolution), then one call.
// Cost     the search takes a while. Put it into prepare: then layer time includes it, and op time
//          does not.
// Expect   fast for many channels, for which libraries are tuned; slow for a first layer of one
//          channel.
// Run      cmake --build --preset lab --target m4
//          build/bin/m4 100 --stage cudnn       (a GPU and cuDNN)
// Read     docs/ladder/cudnn.md

#include <cuda_runtime.h>

#include "common/stage/stage.hpp"

#ifdef CONVLAB_HAS_CUDNN
#include <cudnn.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// Fill in: about 40 lines in all. Each call returns a status; check it:
///
///     cudnnSetTensor4dDescriptor, cudnnSetFilter4dDescriptor, cudnnSetConvolution2dDescriptor with
///     CUDNN_CROSS_CORRELATION, cudnnSetConvolutionMathType with CUDNN_FMA_MATH (no TF32),
///     cudnnFindConvolutionForwardAlgorithm                       // all in prepare
///     cudnnConvolutionForward                                    // here
class Cudnn : public convlab::DeviceConvolution {
  void prepare() override {}
  void release() override {}

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/cudnn.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<Cudnn> stage("cudnn", "Your calls of cuDNN");

}  // namespace

#else

namespace {

// Without a GPU or the library the stage is left out.
const convlab::StageLeftOut stage(
    "cudnn",
    "it calls NVIDIA's library cuDNN, which needs a GPU; this program was built without it");

}  // namespace

#endif
