// Arithmetic in half precision, two numbers at a time.
//
// Idea     A register of 32 bits holds two halves, and __hfma2 multiplies and adds both in the time
//          of one float. Which two numbers do you pair? Two neighbouring columns need every input
//          twice, as the left and as the right one of a pair. Two maps use the same input: what
//          does that change for loads and weights?
// Picture  one step of a thread, maps m and m + 1:
//
//              input      ( x       , x         )
//              weights    ( w[m]    , w[m+1]    )
//              sums    += ( x·w[m]  , x·w[m+1]  )      one instruction
//
// Cost     half of the arithmetic instructions of restrict-unroll and of half, if the weights of
//          two maps lie side by side, so that one load of 32 bits brings both.
// Expect   up to twice the speed of half if arithmetic is the limit; less in a first layer, where
//          memory and loads are. Precision class fp16-sums.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage half2
//          build/bin/grader check m4 --stage half2
// Read     docs/ladder/half2.md

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// Your kernel of half with pairs. Fill in: about 45 lines, and 10 for a kernel that stores the
/// weights of two maps side by side. The pieces:
///
///     half2 both = __float2half2_rn(value);             // (value, value)
///     half2 pair = __floats2half2_rn(low, high);
///     sum = __hfma2(both, pair, sum);
///     float even = __low2float(sum), odd = __high2float(sum);
///
/// If the number of maps is odd, do not store the second half of the last pair.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class Half2 : public convlab::DeviceConvolution {
  /// Allocates memory for the paired weights, if you keep them. Fill in: about 2 lines.
  void prepare() override {}

  /// Launches the kernels; all pointers are to device memory. Fill in: about 15 lines. The weights
  /// are data: pairing them belongs here, not into prepare.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/half2.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<Half2> stage("half2", "Your arithmetic in pairs of halves");

}  // namespace
