// Milestone 4, mma.sync with ldmatrix: a warp computes 16 maps of 8 outputs. Mistakes of
// grader/corpus/mistakes change this file.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"
#include "common/stage/device_convolution.cuh"
#include "common/stage/stage.hpp"

namespace {

using convlab::ConvShape;

constexpr int kMaps = 16;
constexpr int kColumns = 8;
constexpr int kDepth = 16;

// Chunks of 8 halves, exchanged so that the rows of a matrix lie in different banks.
__device__ int swizzled(int row, int k) {
  return row * kDepth + ((k / 8 ^ (row / 4 % 2)) * 8) + k % 8;
}

__device__ unsigned shared_address(const half* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

__global__ void multiply(float* output, const float* input, const float* weights,
                         ConvShape shape) {
  __shared__ alignas(16) half a_tile[kMaps * kDepth];
  __shared__ alignas(16) half b_tile[kColumns * kDepth];
  const int lane = threadIdx.x;
  const int pixels = shape.out_height() * shape.out_width();
  const std::int64_t columns = std::int64_t{shape.batch} * pixels;
  const int taps = shape.in_channels * shape.kernel * shape.kernel;
  const std::int64_t first_column = blockIdx.x * std::int64_t{kColumns};
  const int first_map = blockIdx.y * kMaps;
  float sum[4] = {};
  for (int first = 0; first < taps; first += kDepth) {
    for (int i = lane; i < kMaps * kDepth; i += 32) {
      const int map = first_map + i / kDepth;
      const int tap = first + i % kDepth;
      a_tile[swizzled(i / kDepth, i % kDepth)] =
          __float2half(map < shape.out_channels && tap < taps ? weights[map * taps + tap] : 0.0f);
    }
    for (int i = lane; i < kColumns * kDepth; i += 32) {
      const std::int64_t column = first_column + i / kDepth;
      const int tap = first + i % kDepth;
      float value = 0.0f;
      if (tap < taps && column < columns) {
        const int c = tap / (shape.kernel * shape.kernel);
        const int row = column % pixels / shape.out_width() * shape.stride +
                        tap / shape.kernel % shape.kernel;
        const int x = column % pixels % shape.out_width() * shape.stride + tap % shape.kernel;
        value = input[((column / pixels * shape.in_channels + c) * shape.height + row) *
                          shape.width + x];
      }
      b_tile[swizzled(i / kDepth, i % kDepth)] = __float2half(value);
    }
    __syncthreads();
    unsigned filter[4];
    unsigned window[2];
    const unsigned a_at = shared_address(&a_tile[swizzled(lane % 16, lane / 16 * 8)]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(filter[0]), "=r"(filter[1]), "=r"(filter[2]), "=r"(filter[3])
                 : "r"(a_at));
    const unsigned b_at = shared_address(&b_tile[swizzled(lane % 8, lane / 8 % 2 * 8)]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(window[0]), "=r"(window[1])
                 : "r"(b_at));
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%6, %7, %8, %9}, {%4, %5}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(window[0]), "r"(window[1]), "r"(filter[0]), "r"(filter[1]), "r"(filter[2]),
          "r"(filter[3]));
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    const int map = first_map + lane / 4 + i / 2 * 8;
    const std::int64_t column = first_column + lane % 4 * 2 + i % 2;
    if (map < shape.out_channels && column < columns) {
      output[(column / pixels * shape.out_channels + map) * pixels + column % pixels] = sum[i];
    }
  }
}

class MmaPtx : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const std::int64_t columns =
        std::int64_t{shape.batch} * shape.out_height() * shape.out_width();
    const dim3 grid((columns + kColumns - 1) / kColumns, (shape.out_channels + kMaps - 1) / kMaps);
    multiply<<<grid, 32>>>(output, input, weights, shape);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, 32, 0);
  }
};

const convlab::ConvolutionStage<MmaPtx> stage({.id = "mma-ptx",
                                               .title = "mma and ldmatrix",
                                               .precision = convlab::Precision::kFp16});

}  // namespace
