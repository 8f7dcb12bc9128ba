// Memory: tiles in shared memory.
//
// Idea     In milestone 2 neighbouring threads read overlapping windows, so a block asks for the
//          same input up to K·K times. Shared memory is a small array inside the multiprocessor
//          that all threads of a block see. Load the block's part of the input into it once; then
//          all threads read it there.
// Picture  a block of 16×16 outputs needs (15·stride + K) × (15·stride + K) inputs of each channel:
//
//              ├──── 15·stride + K ────┤
//              ┌───────────────────────┐ ┬
//              │ tile of the input     │ │     1. all threads load it, each a few elements
//              │  ┌──────────────┐     │ │     2. __syncthreads(): wait for each other
//              │  │ windows of   │     │ │     3. each thread sums up its window
//              │  │ 16×16 outputs│     │ │     4. __syncthreads(), then the next channel
//              └──┴──────────────┴─────┘ ┴
//
//          At the edges the tile is larger than the image: load zeros there.
// Cost     global loads per output: from K·K down to ((15·stride + K) / 16)², for K = 7 from 49 to
//          1.9; and shared memory of (15·stride + K)² · 4 bytes a block.
// Expect   perhaps nothing: the caches of today's GPUs do part of this for you. Measure, and find
//          the reason with a profiler.
// Run      cmake --build --preset lab --target m3 && build/bin/m3 100
//          build/bin/grader check m3

#include <cuda_runtime.h>

#include <cstddef>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

[[maybe_unused]] constexpr int kTile = 16;  // a block makes kTile × kTile outputs of one map

/// Forward convolution, no padding, through shared memory. Fill in: about 30 lines.
///
/// @param shape    every size
/// @param input    batch × in_channels × height × width, in device memory
/// @param weights  out_channels × in_channels × kernel × kernel, in device memory
/// @param output   batch × out_channels × out_height × out_width, in device memory
///
/// Every thread of a block must reach every __syncthreads(), also those whose output lies outside
/// the image: do not return early, only write nothing at the end.
__global__ void conv_forward_kernel(ConvShape shape, const float* input, const float* weights,
                                    float* output) {
  // (15·stride + K) × (15·stride + K) floats, if the launch says so
  extern __shared__ float tile[];
  (void)tile;  // goes away with your code
}

/// DeviceConvolution allocates and copies, as you did in milestone 2. You write the launch.
class TiledConvolution : public convlab::DeviceConvolution {
  /// Launches the kernel; all pointers are to device memory. Fill in: about 6 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m3_memory/conv_forward.cu");

    // const dim3 block(kTile, kTile), grid( … );
    // const std::size_t shared_bytes = … ;
    // conv_forward_kernel<<<grid, block, shared_bytes>>>(shape, input, weights, output);
    // CONVLAB_CUDA_CHECK_LAUNCH(grid, block, shared_bytes);
  }
};

// Tells the program about your class; leave it as it is. For another variant (weights in constant
// memory, unrolled loops) copy this file within its folder and give the copy an id of its own.
const convlab::ConvolutionStage<TiledConvolution> stage({.id = "tiled-shared",
                                                         .title = "Your tiles in shared memory",
                                                         .baseline = "baseline",
                                                         .order = 10});

}  // namespace
