// The matrix product of im2col-gemm without the matrix.
//
// Idea     The unrolled input is only a rearrangement of the input. Do not write it to memory. When
//          the product fills its tile in shared memory, compute which input element belongs there,
//          and load that.
// Picture  row t of the unrolled matrix is tap (c, p, q) with t = (c · K + p) · K + q;
//          column i is output (b, h, w) with i = (b · out_height + h) · out_width + w. So
//
//              unrolled[t][i] = input[b][c][h · stride + p][w · stride + q]
//
// Cost     only the output is written, so batches of any size fit. Each element of a tile costs
//          integer arithmetic instead. A division takes as long as dozens of multiply-adds, so find
//          out which divisions you can do once.
// Expect   clearly faster than im2col-gemm.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage fused-gemm
//          build/bin/grader check m4 --stage fused-gemm

#include <cuda_runtime.h>

#include <cstdint>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// output = weights × unrolled input; its tiles are computed on the fly. Fill in: about 40 lines.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class FusedGemm : public convlab::DeviceConvolution {
  /// Launches the kernel; all pointers are to device memory. Fill in: about 6 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/fused_gemm.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<FusedGemm> stage("fused-gemm", "Your matrix product without the matrix");

}  // namespace
