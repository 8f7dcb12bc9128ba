// At the roofline: tensor cores that are as fast as a copy of the data.
//
// Idea     A convolution must read its input once and write its output once. The time to copy as
//          many bytes is the bound (docs/performance.md). Tensor cores compute the products in a
//          fraction of that time, if nothing is unrolled and every element is loaded, converted and
//          stored once.
// Picture  one column of the right factor stands for two output columns, which share 8 inputs:
//
//              input columns    2n   2n+1  2n+2  2n+3  2n+4  2n+5  2n+6  2n+7
//              output 2n        w0   w1    w2    w3    w4    w5    w6    0
//              output 2n + 1    0    w0    w1    w2    w3    w4    w5    w6
//
//          So two neighbouring halves are always one aligned load; only the weights are shifted.
//
//              first layer    left factor: 4 maps × 2 output rows × 2 parities,
//                             by 2 input rows × 8 taps
//              second layer   left factor: 16 maps of one parity, by 2 channels × 8 taps; one
//                             input row serves 7 output rows, whose sums stay in registers
//
// Cost     one of eight products is with a zero; one load and one store of each element.
// Expect   the first version takes twice the time of the copy. Then check the machine code: are
//          stores 16 bytes wide? Is each row stored alone, although rows begin in the middle of a
//          32-byte sector?
// Run      cmake --build --preset lab && build/bin/m4 10000 --stage roofline
//          build/bin/grader check m4 --stage roofline

#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/bulk_copy.cuh"
#include "common/device/matrix_fragments.cuh"
#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// One layer on tensor cores. Fill in: about 90 lines for each of the two layers. The pieces:
///
///     convlab::BlockLoad load;                           // in shared memory: a bulk copy
///     convlab::round_to_halves(first, second)            // two floats → one register
///     convlab::multiply_add(sums, left, right);          // 16 × 8 sums
///     convlab::block_store(global, shared, bytes);       // stores an image in one piece
///
/// common/device/matrix_fragments.cuh says which thread holds which element. Begin with the first
/// layer: weights in registers, float4 stores. Other shapes use a simple kernel.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class Roofline : public convlab::DeviceConvolution {
  /// Chooses the kernel by the shape and launches it; pointers are to device memory. Fill in: about
  /// 20 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/roofline.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<Roofline> stage("roofline", "Your kernels as fast as the memory");

}  // namespace
