// Copy the next image while this one is convolved.
//
// Idea     A block of persistent loads an image, waits, convolves it, waits, loads the next.
//          Loading and computing use different parts of the multiprocessor, so both can run at the
//          same time. Give the block two buffers: an asynchronous copy fills one while the other is
//          used. The copy goes from global to shared memory without passing through registers.
// Picture  persistent        load 0 | compute 0 | load 3 | compute 3 | load 6 | …
//
//          double-buffered   copy 0 | compute 0 | compute 3 | compute 6 | …
//                                   | copy 3    | copy 6    | …
//
// Cost     a second image in shared memory: 60 or 64 KB for a block instead of 30 or 38, so fewer
//          blocks fit on a multiprocessor (3 on an H200, which has room for 3 by registers anyway).
// Expect   a few percent: at most the time in which a multiprocessor has no block that computes.
//          Other blocks already hide most of the loads at no cost.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage double-buffered
//          build/bin/grader check m4 --stage double-buffered
// Read     docs/ladder/double-buffered.md

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// persistent with two buffers for images. Fill in: about 20 lines more than there. The calls:
///
///     __pipeline_memcpy_async(to, from, bytes);  // 4, 8 or 16 bytes, addresses aligned to them
///     __pipeline_commit();                       // the copies so far are a group
///     __pipeline_wait_prior(1);                  // until all groups but the newest have arrived
///
/// They wait only for the copies of this thread; __syncthreads() makes those of the others visible.
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class DoubleBuffered : public convlab::DeviceConvolution {
  /// As in persistent, with shared memory for two images: about 15 lines.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/double_buffered.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<DoubleBuffered> stage("double-buffered", "Your double buffer");

}  // namespace
