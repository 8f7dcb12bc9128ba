// The matrix product with tiles in shared memory and in registers.
//
// Idea     In fused-gemm every multiply-add loads both factors from shared memory, and each input
//          element is first stored there. Keep each matrix where it is used: the weights, which all
//          threads need, in shared memory; a tile of the input and a tile of the sums in the
//          registers of the one thread that uses them.
// Picture  one thread, one tap, Maps = 16, Columns = 4:
//
//                        4 input elements, loaded into registers
//                        i i i i
//              16      w S S S S
//              weights w S S S S      64 sums in registers
//              from    w S S S S
//              shared  …
//
// Cost     per tap 4 input loads and 4 loads of 16 bytes for 64 multiply-adds, 8 for each load;
//          fused-gemm: a half. Only the weights are stored in shared memory, once.
// Expect   four to five times as fast as fused-gemm; the second convolution comes near the
//          arithmetic limit, the first, with 4 maps, stays limited by its loads.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage register-tiled
//          build/bin/grader check m4 --stage register-tiled
// Read     docs/ladder/register-tiled.md

#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// A thread keeps Maps × Columns sums in registers. Fill in: about 55 lines. Make both numbers
/// template parameters, so that the compiler knows how many registers there are.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class RegisterTiled : public convlab::DeviceConvolution {
  /// Chooses tiles by the number of maps and launches; all pointers are to device memory: 12 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/register_tiled.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<RegisterTiled> stage("register-tiled", "Your tiles in registers");

}  // namespace
