// Arithmetic in half precision, one number at a time.
//
// Idea     A half has 16 bits: half the bytes of a float. Convert inputs and weights when they are
//          loaded, and use halves for products and sums, too. Take your fastest kernel of floats,
//          change the types, and see what it gains.
// Picture  sign 1 bit, exponent 5 bits, fraction 10 bits: 11 significant bits, numbers from 6e-8 to
//          65504. Between 2048 and 4096 neighbours are 2 apart: 2048 + 1 is 2048.
// Cost     __hfma takes as long as a multiply-add of floats, in the same pipeline, so arithmetic
//          gains nothing. Each input load needs a conversion.
// Expect   about the time of your kernel of floats. The gain is in the next stage, half2. Products
//          and sums are rounded to 11 bits, so the precision class is fp16-sums. Its bound is far
//          wider than that of rounded inputs alone.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage half
//          build/bin/grader check m4 --stage half
// Read     docs/ladder/half.md

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// Your kernel of restrict-unroll with halves. Fill in: about 40 lines, most of which you have. The
/// pieces:
///
///     half x = __float2half(value);
///     sum = __hfma(x, weight, sum);      // x · weight + sum, rounded once
///     float result = __half2float(sum);
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class Half : public convlab::DeviceConvolution {
  /// Launches the kernel; all pointers are to device memory. Fill in: about 6 lines, 15 with
  /// weights in constant memory.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/half.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<Half> stage("half", "Your arithmetic in halves");

}  // namespace
