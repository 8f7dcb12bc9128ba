// The input channels in parallel, their sums added by a tree.
//
// Idea     The baseline has a thread for every output. A sum over C channels allows more threads:
//          give each channel its own thread, and add the partial sums in shared memory.
// Picture  a block of 256 threads, C = 4: 64 pixels × 4 slices of channels
//
//              slice 0   a a a a …        a+c  a+c …        a+c+b+d …  → output
//              slice 1   b b b b …   →    b+d  b+d …   →
//              slice 2   c c c c …
//              slice 3   d d d d …        log2(4) = 2 steps, a barrier before each
//
// Cost     the same loads and multiply-adds as the baseline. In addition, for each output and slice
//          a store and a load in shared memory, and log2(slices) barriers.
// Expect   no gain at large batches, which have enough threads anyway: 18.5 million outputs at
//          1 000 images. A gain if the outputs are too few to fill the GPU. With one channel it is
//          the baseline.
// Run      build/bin/m4 1000 --stage channel-reduction-tree --solution reference

#include <cuda_runtime.h>

#include <algorithm>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

constexpr int kThreads = 256;
constexpr int kMostSlices = 8;
constexpr int kMaxGridZ = 65535;

// The block is (slices, pixels) threads, slices a power of two. Slice s sums channels s,
// s + slices, s + 2 · slices, …
__global__ void conv_forward(float* output, const float* input, const float* weights,
                             ConvShape shape) {
  __shared__ float partial[kThreads];  // (slices, pixels of the block)
  const int pixels = shape.out_height() * shape.out_width();
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  const int m = blockIdx.y;
  const int mine = threadIdx.y * blockDim.x + threadIdx.x;
  const int window = shape.kernel * shape.kernel;
  const int h = pixel / shape.out_width();
  const int w = pixel % shape.out_width();

  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    float sum = 0.0f;
    if (pixel < pixels) {
      const float* corner =
          input + b * shape.input_image_size() + h * shape.stride * shape.width + w * shape.stride;
      for (int c = threadIdx.y; c < shape.in_channels; c += blockDim.y) {
        const float* row = corner + c * shape.height * shape.width;
        const float* weight = weights + m * shape.taps() + c * window;
        for (int p = 0; p < shape.kernel; ++p) {
          for (int q = 0; q < shape.kernel; ++q) sum += row[q] * weight[q];
          row += shape.width;
          weight += shape.kernel;
        }
      }
    }
    partial[mine] = sum;
    // Adds the upper half of the slices to the lower half, until one slice is left.
    for (int half = blockDim.y / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.y < half) partial[mine] += partial[mine + half * blockDim.x];
    }
    // No barrier: slice 0 reads only its own values, and no other thread writes them.
    if (threadIdx.y == 0 && pixel < pixels) {
      output[b * shape.output_image_size() + m * pixels + pixel] = partial[mine];
    }
    __syncthreads();  // all parts are read before the next image overwrites them
  }
}

class ChannelReductionTree final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    int slices = 1;
    while (slices < shape.in_channels && slices < kMostSlices) slices *= 2;
    const dim3 block(kThreads / slices, slices);
    const int pixels = shape.out_height() * shape.out_width();
    const dim3 grid((pixels + block.x - 1) / block.x, shape.out_channels,
                    std::min(shape.batch, kMaxGridZ));
    conv_forward<<<grid, block>>>(output, input, weights, shape);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, block, 0);
  }
};

const convlab::LadderStage<ChannelReductionTree> stage("channel-reduction-tree",
                                                       "Channels in parallel, summed by a tree");

}  // namespace
