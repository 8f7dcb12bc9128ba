// Three products: Cleo's kernel
//
// output[m][w] = Σ over c of weights[m][c] · input[c][w], 4 maps and 8 channels. Ann, Ben and Cleo
// wrote a kernel each. All three are right, and one is slow.
//
// First solve the case from the counters, without reading the kernels:
//   build/bin/grader check m4 --stage detective
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kMaps = 4;
constexpr int kChannels = 8;
constexpr int kColumns = 64;
constexpr int kRow = kChannels + 2;

/// The block brings its inputs to shared memory once, a row for each column; then each thread reads
/// its column's row for one map.
__global__ void multiply(float* output, const float* input, const float* weights, int columns) {
  __shared__ float tile[kColumns][kRow];
  const int m = threadIdx.y;
  const int w = blockIdx.x * kColumns + threadIdx.x;
  for (int c = m; c < kChannels; c += kMaps) {
    tile[threadIdx.x][c] = w < columns ? input[c * columns + w] : 0.0f;
  }
  __syncthreads();
  if (w >= columns) return;
  float sum = 0.0f;
  for (int c = 0; c < kChannels; ++c) sum += weights[m * kChannels + c] * tile[threadIdx.x][c];
  output[m * columns + w] = sum;
}

class Suspect final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    const int columns = shape.out_width();
    const dim3 grid((columns + kColumns - 1) / kColumns);
    const dim3 block(kColumns, kMaps);
    multiply<<<grid, block>>>(output, input, weights, columns);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, block, 0);
  }
};

const convlab::ConvolutionStage<Suspect> stage({.id = "cleo",
                                                .title = "Cleo's kernel",
                                                .order = 3});

}  // namespace
