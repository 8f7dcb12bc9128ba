// The library's convolution.
//
// Idea     Call cuDNN, NVIDIA's library for neural networks. It has several algorithms for a
//          convolution, and its search times them on this shape. It is a baseline, not an exercise
//          in kernels: the rest of the ladder is compared with it.
// Cost     the search runs in the prolog and counts in the layer time, not in the op time.
// Expect   fast for many channels, for which libraries are tuned; slow for a first layer with one
//          channel and four maps.
// Run      build/bin/m4 1000 --stage cudnn --solution reference        (a GPU and cuDNN)

#include <cuda_runtime.h>

#include "common/stage/stage.hpp"

#ifdef CONVLAB_HAS_CUDNN

#include "cudnn_convolution.cuh"

namespace {

const convlab::ConvolutionStage<convlab::CudnnStage<convlab::CudnnMath::kFp32>> stage({
    .id = "cudnn",
    .title = "Library: cuDNN, its fastest algorithm",
    .baseline = "cublas",
    .order = 191,
});

}  // namespace

#else

namespace {

const convlab::StageLeftOut stage(
    "cudnn",
    "it calls NVIDIA's library cuDNN, which needs a GPU; this program "
    "was built without it");

}  // namespace

#endif
