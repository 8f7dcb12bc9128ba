// CUDA cores near their limit.
//
// Idea     The second layer of the default network needs 36 billion multiply-adds at 10 000 images.
//          Divide by the number that your GPU computes in a second: no kernel without tensor cores
//          is faster. Every other instruction takes additional time. So use each loaded value
//          often: each thread keeps a block of sums in registers.
// Picture  a thread computes some output rows of one column, for some maps. For each channel and
//          each kernel column q:
//
//              pixels   rows + K - 1 loads; neighbouring threads load neighbours
//              weights  K · maps, the same for all threads of a warp
//              sums     rows × maps:  sum[m][y] += pixel[y + p] · weight[p][m]
//
// Cost     (rows + K - 1) loads and K · maps weights for K · maps · rows multiply-adds. Count them
//          for 4 × 4, 10 × 4 and 17 × 8.
// Expect   70 to 85 % of the limit for good sizes. Two things decide. Load weights from constant
//          memory with an index that the compiler knows to be the same for the warp; then they lie
//          in uniform registers (look for UR in the machine code). Do not unroll the loops over
//          channels and kernel columns, or the code does not fit into the instruction cache.
// Run      cmake --build --preset lab && build/bin/m4 1000 --stage direct-fp32
//          build/bin/grader check m4 --stage direct-fp32
//          cuobjdump -sass build/bin/m4 | grep FFMA

#include <cuda_runtime.h>

#include <cstdint>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// With the sizes of a layer as template parameters, the compiler can unroll loops and keep arrays
/// in registers. Fill in: about 60 lines, and 25 for a simple kernel for other shapes.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class DirectFp32 : public convlab::DeviceConvolution {
  /// Allocates more buffers, such as one for weights in another order. Fill in if you need one:
  /// about 1 line.
  void prepare() override {}
  void release() override {}

  /// Orders the weights, copies them to constant memory, launches; pointers are to device memory.
  /// Fill in: about 25 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/direct_fp32.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<DirectFp32> stage("direct-fp32", "Your sums and weights in registers");

}  // namespace
