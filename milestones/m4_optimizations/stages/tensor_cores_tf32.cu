// Tensor cores, TF32.
//
// Idea     TF32 is a float of which tensor cores use 10 bits of the fraction: the range of single
//          precision, the exactness of half. No element changes its size, and nothing overflows.
//          But operations are 16×16×8, half as deep, and take as long, and every element has four
//          bytes.
// Picture  one operation of one warp (WMMA), 16×16×8:
//
//              weights            input tile           sums
//              16 maps × 8 taps × 8 taps × 16 columns → 16 maps × 16 columns
//              floats, rounded    floats, rounded      floats
//
//          A fragment of precision::tf32 keeps floats. Round each by __float_to_tf32, either when
//          you store it into the tile or in the fragment. Otherwise its low bits are cut off.
// Cost     twice the operations of half precision, twice the bytes through shared memory. With
//          windows of 16 inputs (see tensor-cores-fp16) the two halves of a window are chunks of 8,
//          and the right half is the left half of the next window: every input is stored once.
// Expect   slower than half precision if products or shared memory are the limit, as fast if memory
//          is.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage tensor-cores-tf32
//          build/bin/grader check m4 --stage tensor-cores-tf32
// Read     docs/ladder/tensor-cores-tf32.md

#include <cuda_runtime.h>
#include <mma.h>

#include <cstdint>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// Your kernel of tensor-cores-fp16 with TF32. Fill in: about 50 lines; with chunks, 120. The
/// pieces:
///
///     using nvcuda::wmma::precision::tf32;
///     wmma::fragment<wmma::matrix_a, 16, 16, 8, tf32, wmma::row_major> left;
///     wmma::load_matrix_sync(left, weight_tile, row_length);  // row_length: a multiple of 4
///     tile[i] = wmma::__float_to_tf32(value);
///
/// TF32 begins with compute capability 8.0. If your build names older GPUs, put the body between
/// #if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800 and #endif.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class TensorCoresTf32 : public convlab::DeviceConvolution {
  /// Launches the kernel; all pointers are to device memory. Fill in: about 6 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/tensor_cores_tf32.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<TensorCoresTf32> stage("tensor-cores-tf32", "Your product in TF32");

}  // namespace
