// Tensor cores, half precision.
//
// Idea     A tensor core multiplies two small matrices of halves in one operation of a whole warp,
//          and adds in single precision. First compute the matrix product of fused-gemm on them.
//          Then find the new limit: not the products, but filling the tile, where every input is
//          stored K·K times.
// Picture  one operation of one warp (WMMA), here 16×16×16:
//
//              weights             input tile            sums
//              16 maps × 16 taps × 16 taps × 16 columns → 16 maps × 16 columns
//              halves              halves                floats, spread over the 32 threads
//
//          8×32×16 is the same for eight maps and 32 columns. Maps and taps that do not fill a
//          matrix are padded with zeros. To store every input only twice, let the columns of the
//          input tile be windows of 16 neighbouring inputs, each for 8 neighbouring outputs:
//
//              weights of one map, one kernel row           windows of one input row
//              w0 w1 w2 w3 w4 w5 w6 0  0  0  0 …               x0  x8  x16 …
//              0  w0 w1 w2 w3 w4 w5 w6 0  0  0 …               x1  x9  x17 …
//              …                                       ×       …
//              0  0  0  0  0  0  0  w0 w1 w2 w3 …              x15 x23 x31 …
//
// Cost     windows: 7 of 16 products are with weights, the others with zeros; tensor cores are fast
//          enough for that. Filling the tile: 2 stores of an input instead of 49.
// Expect   in the first form a gain that grows with the number of maps, in the second one several
//          times as much. The inputs are rounded to 11 bits, so the result is less exact. The
//          precision class says so, and the grader allows only the error that such inputs cause.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage tensor-cores-fp16
//          build/bin/grader check m4 --stage tensor-cores-fp16
// Read     docs/ladder/tensor-cores-fp16.md

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdint>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;
using namespace nvcuda;

/// The product of fused-gemm on tensor cores. Fill in: about 50 lines. The pieces:
///
///     wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
///     wmma::fill_fragment(sum, 0.0f);
///     wmma::load_matrix_sync(left, weight_tile, row_length);  // right too; both in shared memory
///     wmma::mma_sync(sum, left, right, sum);
///     wmma::store_matrix_sync(sums, sum, row_length, wmma::mem_row_major);
///
/// All 32 threads of a warp must make these calls together. With windows: another 80 lines; keep
/// this kernel for strides above 1 and for kernel sizes that do not fit.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class TensorCoresFp16 : public convlab::DeviceConvolution {
  /// Launches the kernel; all pointers are to device memory. Fill in: about 6 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/tensor_cores_fp16.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<TensorCoresFp16> stage("tensor-cores-fp16", "Your tensor cores");

}  // namespace
