// Weights in constant memory.
//
// Idea     At every step all threads of a warp need the same weight. Constant memory has its own
//          cache, which gives one value to a whole warp, so the load units need not load the
//          weights.
// Picture  64 KiB of constant memory hold the weights of as many whole maps as fit:
//
//              | map 0: C·K·K | map 1 | map 2 | … |          one launch per such group of maps
//
// Cost     half of the baseline's loads leave global memory; a copy of the weights, device to
//          device, precedes each launch and counts as op time.
// Expect   a gain on old GPUs, a loss today: a constant whose address is computed in the loop is
//          loaded by its own slow path, and the first-level cache is good at broadcasts. Constants
//          pay if the compiler knows their addresses: see restrict-unroll.
// Run      build/bin/m3 1000 --stage constant-memory --solution reference

#include <cuda_runtime.h>

#include <algorithm>

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/constant_groups.cuh"

namespace {

using convlab::ConvShape;

constexpr int kBlockSize = 256;
constexpr int kMaxGridZ = 65535;

// (maps of the group, taps)
__constant__ float constant_weights[convlab::kConstantBytes / sizeof(float)];

__global__ void conv_forward(float* output, const float* input, ConvShape shape, int first_map) {
  const int pixels = shape.out_height() * shape.out_width();
  const int pixel = blockIdx.x * kBlockSize + threadIdx.x;
  if (pixel >= pixels) return;
  const int h = pixel / shape.out_width();
  const int w = pixel % shape.out_width();
  const int m = first_map + blockIdx.y;

  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    const float* image = input + b * shape.input_image_size();
    int tap = blockIdx.y * shape.taps();
    float sum = 0.0f;
    for (int c = 0; c < shape.in_channels; ++c) {
      for (int p = 0; p < shape.kernel; ++p) {
        const float* row = image + (c * shape.height + h * shape.stride + p) * shape.width;
        for (int q = 0; q < shape.kernel; ++q) {
          sum += row[w * shape.stride + q] * constant_weights[tap++];
        }
      }
    }
    output[b * shape.output_image_size() + m * pixels + pixel] = sum;
  }
}

class ConstantMemory final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const int pixels = shape.out_height() * shape.out_width();
    convlab::for_each_constant_group<float>(shape, 1, [&](int first, int maps) {
      CONVLAB_CUDA_CHECK(cudaMemcpyToSymbolAsync(constant_weights, weights + first * shape.taps(),
                                                 maps * shape.taps() * sizeof(float), 0,
                                                 cudaMemcpyDeviceToDevice));
      const dim3 grid((pixels + kBlockSize - 1) / kBlockSize, maps,
                      std::min(shape.batch, kMaxGridZ));
      conv_forward<<<grid, kBlockSize>>>(output, input, shape, first);
      CONVLAB_CUDA_CHECK_LAUNCH(grid, kBlockSize, 0);
    });
  }
};

const convlab::ConvolutionStage<ConstantMemory> stage({
    .id = "constant-memory",
    .title = "Weights in constant memory",
    .baseline = "baseline",
    .order = 20,
});

}  // namespace
