// CUDA cores near their limit.
//
// Idea     The second layer of the default network needs 36 billion multiply-adds at 10 000 images.
//          Divide by what your GPU can do in a second: no kernel without tensor cores is faster.
//          Every instruction that is no multiply-add comes on top, so use what you load often: each
//          thread keeps a block of sums in registers.
// Picture  a thread has one column, some output rows and some maps. For each channel and each
//          kernel column q:
//
//              pixels   rows + K - 1 loads; neighbouring threads load neighbours
//              weights  K · maps, the same for all threads of a warp
//              sums     rows × maps:  sum[m][y] += pixel[y + p] · weight[p][m]
//
// Cost     (rows + K - 1) loads and K · maps weights for K · maps · rows multiply-adds. Count them
//          for 4 × 4, 10 × 4 and 17 × 8.
// Expect   70 to 85 % of the limit for good sizes. Two things decide: that weights come from
//          constant memory with an index that is provably the same for the warp (then they sit in
//          uniform registers; look for UR in the machine code), and that loops over channels and
//          kernel columns are not unrolled, or the code does not fit into the instruction cache.
// Run      cmake --build --preset lab && build/bin/m4 1000 --stage direct-fp32
//          build/bin/grader check m4 --stage direct-fp32
//          cuobjdump -sass build/bin/m4 | grep FFMA

#include <cuda_runtime.h>

#include <cstdint>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// A template over the sizes of a layer makes loops that the compiler can unroll, and arrays that
/// it can keep in registers. Fill in: about 60 lines; other shapes need a simple kernel beside it,
/// about 25.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class DirectFp32 : public convlab::DeviceConvolution {
  /// Buffers besides the three arrays, such as weights in the order that you want them. Fill in if
  /// you need some: about 1 line.
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
