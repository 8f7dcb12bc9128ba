// Single precision from half-precision tensor cores.
//
// Idea     A float has 24 bits, a half has 11: two halves hold almost a float. Three products of
//          halves replace one of floats, and tensor cores do 15 times as many products as the other
//          cores.
// Picture      value = high + low      high: the nearest half; low: the nearest half of the rest
//              a · b ≈ high·high + (high·low + low·high)
//
//          Halves reach from 2^-24 to 65504. Multiply the data by a power of two, chosen by the
//          largest value, so that nothing overflows and few bits are lost. Multiply by its inverse
//          at the end.
// Cost     three matrix operations instead of one, and twice the registers for both factors.
// Expect   the first layer is still near the time of a copy, because tensor cores were idle there.
//          They limit the second layer. Tensor cores cut off bits when they add: sum the
//          corrections apart from the main products, and test with positive data.
// Run      cmake --build --preset lab && build/bin/m4 10000 --stage fp32-split
//          build/bin/grader check m4 --stage fp32-split

#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/bulk_copy.cuh"
#include "common/device/matrix_fragments.cuh"
#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// Your kernel of roofline with three products. Fill in: about 40 lines more than there: the
/// largest value of a strip (__shfl_xor_sync, then shared memory), the split, two sums. Store the
/// high and low halves of two neighbours in place of the two floats: one 64-bit load then brings
/// all four.
///
/// On compute capability 9.0 four warps can multiply together (wgmma in NVIDIA's PTX ISA), which is
/// nearly twice as fast for the second layer. With it the stage takes about 350 lines more.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class Fp32Split : public convlab::DeviceConvolution {
  /// Chooses the kernel by the shape and launches it; pointers are to device memory. Fill in: about
  /// 20 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/fp32_split.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<Fp32Split> stage("fp32-split", "Your single precision from halves");

}  // namespace
