// The indices of fused-gemm, computed once.
//
// Idea     fused-gemm computes the address of each element of its tiles: a block divides for every
//          tap, a thread divides a 64-bit column number by the pixels of an image. The results do
//          not depend on the data and are the same for every image. Store them in two tables when
//          the sizes are known, and let a block stay within one image.
// Picture  unrolled[t][i] of image b lies at
//
//              input + b · image_size + tap_offset[t] + pixel_offset[i]
//                                       └ taps ints ┘   └ pixels ints ┘
//
// Cost     one load of 4 bytes for a thread's pixel and one for each tap of the block, both from
//          the caches; the only division is that of the block's number. The product is that of
//          fused-gemm: two loads from shared memory for each multiply-add if a thread computes one
//          map.
// Expect   a gain if index arithmetic is a large part of the work, so more in the first convolution
//          (49 taps for a column) than in the second (196).
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage index-reuse
//          build/bin/grader check m4 --stage index-reuse
// Read     docs/ladder/index-reuse.md

#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// The product of fused-gemm, with offsets from tables. Fill in: about 40 lines, most of them from
/// fused-gemm; add the two tables to its parameters.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class IndexReuse : public convlab::DeviceConvolution {
  /// Computes both tables on the host and copies them: about 15 lines. shape() has the sizes. The
  /// tables belong here because they depend only on the sizes, not on the data.
  void prepare() override {}

  /// Frees them.
  void release() override {}

  /// Launches the kernel; all pointers are to device memory. Fill in: about 8 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/index_reuse.cu");
  }

  convlab::DeviceBuffer<int> tap_offset_;    // (taps)
  convlab::DeviceBuffer<int> pixel_offset_;  // (out_height · out_width)
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<IndexReuse> stage("index-reuse", "Your precomputed indices");

}  // namespace
