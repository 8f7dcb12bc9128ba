// The input channels in parallel, their sums added by atomics.
//
// Idea     Each channel's part of an output gets its own thread, as in channel-reduction-tree, but
//          the threads need not be in one block: each adds its part to the output with an atomic
//          operation, which the second-level cache performs.
// Picture  grid.y counts maps × channels:
//
//              block (…, m · C + c, b):  output[b][m][…]  +=  part of channel c
//
// Cost     C atomic additions for each output instead of one store. The output must be zero first,
//          so it is written once more: 1 GB in the first convolution at 10 000 images.
// Expect   slower than the tree and than the baseline at large batches. The order of the additions
//          differs from run to run, and so does the last bit of the result. With one channel a
//          plain store is enough.
// Run      build/bin/m4 1000 --stage channel-reduction-atomics --solution reference

#include <cuda_runtime.h>

#include <algorithm>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

constexpr int kBlockSize = 256;
constexpr int kMaxGridYZ = 65535;

__global__ void conv_forward(float* output, const float* input, const float* weights,
                             ConvShape shape) {
  const int pixels = shape.out_height() * shape.out_width();
  const int pixel = blockIdx.x * kBlockSize + threadIdx.x;
  if (pixel >= pixels) return;
  const int h = pixel / shape.out_width();
  const int w = pixel % shape.out_width();
  const int window = shape.kernel * shape.kernel;

  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    const float* corner =
        input + b * shape.input_image_size() + h * shape.stride * shape.width + w * shape.stride;
    const int parts = shape.out_channels * shape.in_channels;
    for (int part = blockIdx.y; part < parts; part += gridDim.y) {
      const int m = part / shape.in_channels;
      const int c = part % shape.in_channels;
      const float* row = corner + c * shape.height * shape.width;
      const float* weight = weights + part * window;
      float sum = 0.0f;
      for (int p = 0; p < shape.kernel; ++p) {
        for (int q = 0; q < shape.kernel; ++q) sum += row[q] * weight[q];
        row += shape.width;
        weight += shape.kernel;
      }
      float* to = output + b * shape.output_image_size() + m * pixels + pixel;
      if (shape.in_channels == 1) {
        *to = sum;
      } else {
        atomicAdd(to, sum);
      }
    }
  }
}

class ChannelReductionAtomics final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    if (shape.in_channels > 1) {
      // Part of the convolution: without it the second call would add to the result of the first.
      CONVLAB_CUDA_CHECK(cudaMemsetAsync(output, 0, shape.output_size() * sizeof(float)));
    }
    const int pixels = shape.out_height() * shape.out_width();
    const dim3 grid((pixels + kBlockSize - 1) / kBlockSize,
                    std::min(shape.out_channels * shape.in_channels, kMaxGridYZ),
                    std::min(shape.batch, kMaxGridYZ));
    conv_forward<<<grid, kBlockSize>>>(output, input, weights, shape);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, kBlockSize, 0);
  }
};

const convlab::LadderStage<ChannelReductionAtomics> stage(
    "channel-reduction-atomics", "Channels in parallel, summed by atomics");

}  // namespace
