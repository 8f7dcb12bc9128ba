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
// Run      build/bin/m4 1000 --stage double-buffered --solution reference

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "reference/solutions/m4_optimizations/image_in_shared.cuh"

namespace {

using convlab::ConvShape;
namespace image_in_shared = convlab::image_in_shared;

// Starts the copy of an image into shared memory and does not wait for it. It copies 16 bytes at a
// time, or 4 if the size of an image is not a multiple of 16 bytes, so that its beginning may be
// unaligned.
__device__ void start_copy(float* to, const float* from, int elements) {
  constexpr int kFour = 4;
  if (elements % kFour == 0) {
    for (int i = threadIdx.x * kFour; i < elements; i += blockDim.x * kFour) {
      __pipeline_memcpy_async(to + i, from + i, kFour * sizeof(float));
    }
  } else {
    for (int i = threadIdx.x; i < elements; i += blockDim.x) {
      __pipeline_memcpy_async(to + i, from + i, sizeof(float));
    }
  }
}

template <int KernelSize, int Rows>
__global__ void __launch_bounds__(image_in_shared::kMostThreads, 3)
    conv_forward(float* __restrict__ output, const float* __restrict__ input,
                 const float* __restrict__ weights, ConvShape shape) {
  extern __shared__ __align__(16) float shared[];
  const int image_floats = static_cast<int>(image_in_shared::image_floats(shape, Rows));
  float* image = shared;                           // (channels, height, width), being convolved
  float* next_image = image + image_floats;        // the next one, being copied
  float* weight_tile = next_image + image_floats;  // (weights)
  const std::int64_t image_size = shape.input_image_size();
  const int elements = static_cast<int>(image_size);

  start_copy(image, input + blockIdx.x * image_size, elements);
  __pipeline_commit();
  image_in_shared::load_weights(weight_tile, weights, shape);
  for (int b = blockIdx.x; b < shape.batch; b += gridDim.x) {
    const int next = b + gridDim.x;
    if (next < shape.batch) start_copy(next_image, input + next * image_size, elements);
    __pipeline_commit();       // also an empty group, so that the count below is right
    __pipeline_wait_prior(1);  // all groups but the last: this thread's part of `image`
    __syncthreads();           // the parts of all threads
    image_in_shared::convolve<KernelSize, Rows>(output + b * shape.output_image_size(), image,
                                                weight_tile, shape);
    __syncthreads();  // all threads are done before the image after the next overwrites it
    float* done = image;
    image = next_image;
    next_image = done;
  }
  __pipeline_wait_prior(0);
}

class DoubleBuffered final : public image_in_shared::ImageAfterImage {
  void prepare() override {
    plan(2, [](auto kernel_size, auto rows) { return conv_forward<kernel_size(), rows()>; });
  }
};

const convlab::LadderStage<DoubleBuffered> stage(
    "double-buffered", "The next image is copied while this one is convolved");

}  // namespace
