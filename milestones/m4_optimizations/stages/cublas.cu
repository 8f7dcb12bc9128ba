// The library's matrix product.
//
// Idea     im2col-gemm with NVIDIA's matrix product instead of yours. You will hardly beat the
//          product of cuBLAS. How much does that gain for this shape?
// Picture  for each image, all images of a slice in one call:
//
//              weights (maps, taps)  ×  unrolled (taps, pixels)  =  output (maps, pixels)
//
//          cuBLAS stores matrices column by column, as Fortran does. To cuBLAS a row-major matrix
//          looks like its transpose: ask for unrolledᵀ · weightsᵀ = outputᵀ.
// Cost     the unrolled matrix is written and read once, K·K times the input.
// Expect   at least the time to move the unrolled matrix, however good the product is.
// Run      cmake --build --preset lab --target m4
//          build/bin/m4 100 --stage cublas      (a GPU and cuBLAS)
// Read     docs/ladder/cublas.md

#include <cuda_runtime.h>

#include "common/stage/stage.hpp"

#ifdef CONVLAB_HAS_CUBLAS
#include <cublas_v2.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// Fill in: about 30 lines, with your kernel that unrolls. Each call returns a status; check it:
///
///     cublasCreate(&handle_);                                    // in prepare
///     cublasSgemmStridedBatched(handle_, CUBLAS_OP_N, CUBLAS_OP_N, pixels, maps, taps, &one,
///                               unrolled, pixels, taps · pixels, weights, taps, 0, &zero,
///                               output, pixels, maps · pixels, images);
///
/// A distance of 0 between the matrices of two images says that all images share one matrix, the
/// weights.
class Cublas : public convlab::DeviceConvolution {
  void prepare() override {}
  void release() override {}

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/cublas.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<Cublas> stage("cublas", "Your calls of cuBLAS");

}  // namespace

#else

namespace {

// Without a GPU or the library the stage is left out.
const convlab::StageLeftOut stage(
    "cublas",
    "it calls NVIDIA's library cuBLAS, which needs a GPU; this program was built without it");

}  // namespace

#endif
