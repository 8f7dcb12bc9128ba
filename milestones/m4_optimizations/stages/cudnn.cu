// The library's convolution.
//
// Idea     The quick way: cuDNN has the convolution itself, in several algorithms, and a search
//          that times them on your shape. The rest of your ladder is compared with it.
// Picture  four descriptions (input, weights, output, convolution), then one call.
// Cost     the search takes a while; it belongs into prepare, where the layer time sees it and the
//          op time does not.
// Expect   good where libraries are tuned: many channels. A first layer of one channel is another
//          matter.
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

/// Fill in: about 40 lines in all. The calls, each of which returns whether it went well:
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

// Without a GPU or without the library there is nothing to call.
const convlab::StageLeftOut stage(
    "cudnn",
    "it calls NVIDIA's library cuDNN, which needs a GPU; this program was built without it");

}  // namespace

#endif
