// Input unrolling and a matrix multiplication in shared memory.
//
// Idea     Write the window of every output as a column of a matrix. Then the convolution is one
//          matrix product, and all known methods for fast matrix products apply.
// Picture
//                 taps                    columns = images · out_height · out_width
//              ┌────────┐              ┌──────────────────────────┐
//     maps     │weights │   ×   taps   │ unrolled input           │   =   output, maps × columns
//              └────────┘              └──────────────────────────┘
//
//          taps is in_channels · K · K. The weights already lie in memory as this matrix. The
//          output stores one image after the other, each with all its maps.
// Cost     the unrolled input is K·K times as large as the input: 12.5 GB for the first convolution
//          of the default network at 10 000 images, more elements than an int counts. So work in
//          slices: unroll some images, multiply, then unroll the next ones.
// Expect   with few maps, writing and reading the unrolled matrix costs more than it saves. The
//          stage is a step to fused-gemm, which needs no matrix.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage im2col-gemm
//          build/bin/grader check m4 --stage im2col-gemm

#include <cuda_runtime.h>

#include <cstdint>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// Writes the window of every output of `shape` as a column. Fill in: about 15 lines.
/// @param unrolled  taps × columns, row-major; an index into it needs 64 bits
/// @param input     the images of this slice: shape.batch of them
__global__ void unroll_input(float* unrolled, const float* input, ConvShape shape) {}

/// output = weights × unrolled, with tiles of both in shared memory. Fill in: about 30 lines.
/// @param weights  maps × taps      @param unrolled  taps × columns
/// @param output   of this slice: column i belongs to image i / pixels, pixel i % pixels
__global__ void multiply(float* output, const float* weights, const float* unrolled, int maps,
                         int taps, std::int64_t columns, int pixels) {}

class Im2colGemm : public convlab::DeviceConvolution {
  /// Chooses the number of images in a slice of at most workspace_bytes() bytes, and allocates the
  /// slice: about 5 lines. shape() has the sizes. The grader also tests with so little memory that
  /// a batch of 11 images takes several slices.
  void prepare() override {}

  /// Unrolls and multiplies slice after slice; all pointers are to device memory: about 15 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/im2col_gemm.cu");
  }

  convlab::DeviceBuffer<float> unrolled_;
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<Im2colGemm> stage("im2col-gemm", "Your unrolled matrix product");

}  // namespace
