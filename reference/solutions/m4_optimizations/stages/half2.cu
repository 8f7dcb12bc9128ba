// Arithmetic in half precision, two numbers at a time.
//
// Idea     A 32-bit register holds two halves, and __hfma2 multiplies and adds both at once. Which
//          two numbers? Neighbouring columns would need every input twice, as the left and as the
//          right one of a pair. Two maps use the same input, so it is converted once into both
//          halves of a register, and the weights of the two maps lie side by side.
// Picture  one step of a thread, maps m and m + 1:
//
//              input      ( x       , x         )
//              weights    ( w[m]    , w[m+1]    )      one 32-bit word of constant memory
//              sums    += ( x·w[m]  , x·w[m+1]  )      one instruction
//
// Cost     half of restrict-unroll's arithmetic instructions. A thread computes MapPairs pairs of
//          maps × kRows rows: for each channel (K + 3)·K loads and conversions for 4·K·K·MapPairs
//          instructions, at K = 7 and 4 pairs 11 for each load.
// Expect   up to twice the speed of half if arithmetic is the limit: with many channels and many
//          maps. Products and sums are rounded to 11 bits: precision class fp16-sums.
// Run      build/bin/m4 1000 --stage half2 --solution reference

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/constant_groups.cuh"
#include "reference/solutions/kernel_size.hpp"

namespace {

using convlab::ConvShape;

constexpr int kBlockSize = 128;
constexpr int kMaxGridZ = 65535;
constexpr int kRows = 4;

// (groups of MapPairs, taps, MapPairs): the weights that a thread needs for one tap lie side by
// side
__constant__ half2 constant_weights[convlab::kConstantBytes / sizeof(half2)];

// pairs, laid out as in constant memory; a map that does not exist has weights 0.
__global__ void pair_weights(half2* pairs, const float* weights, ConvShape shape, int map_pairs,
                             int count) {
  const int i = blockIdx.x * kBlockSize + threadIdx.x;
  if (i >= count) return;
  const int taps = shape.taps();
  const int tap = i / map_pairs % taps;
  const int map = 2 * (i / map_pairs / taps * map_pairs + i % map_pairs);
  pairs[i] =
      __floats2half2_rn(map < shape.out_channels ? weights[map * taps + tap] : 0.0f,
                        map + 1 < shape.out_channels ? weights[(map + 1) * taps + tap] : 0.0f);
}

// KernelSize is that of the shape, or 0 for any: one row after the other. blockIdx.y counts groups
// of MapPairs pairs, first_group is the one with which constant memory begins.
template <int KernelSize, int MapPairs>
__global__ void conv_forward(float* __restrict__ output, const float* __restrict__ input,
                             ConvShape shape, int first_group) {
  const int strips = (shape.out_height() + kRows - 1) / kRows;
  const int position = blockIdx.x * kBlockSize + threadIdx.x;
  if (position >= strips * shape.out_width()) return;
  const int first_h = position / shape.out_width() * kRows;
  const int w = position % shape.out_width();
  const int first_map = 2 * MapPairs * (first_group + blockIdx.y);
  const half2* group_weights = constant_weights + blockIdx.y * shape.taps() * MapPairs;

  for (int b = blockIdx.z; b < shape.batch; b += gridDim.z) {
    const float* image = input + b * shape.input_image_size();
    half2 sum[MapPairs][kRows];
    for (int i = 0; i < MapPairs * kRows; ++i) sum[i / kRows][i % kRows] = __float2half2_rn(0.0f);
    for (int c = 0; c < shape.in_channels; ++c) {
      const float* plane = image + c * shape.height * shape.width;
      const half2* weight = group_weights + c * shape.kernel * shape.kernel * MapPairs;
      if constexpr (KernelSize > 0) {
        constexpr int kInputRows = kRows + KernelSize - 1;
#pragma unroll
        for (int y = 0; y < kInputRows; ++y) {
          // The last strip may reach below the image; its sums there are never stored.
          const bool inside = first_h + y < shape.height;
#pragma unroll
          for (int q = 0; q < KernelSize; ++q) {
            const half2 pixel =
                __float2half2_rn(inside ? plane[(first_h + y) * shape.width + w + q] : 0.0f);
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
              const int p = y - r;
              if (p < 0 || p >= KernelSize) continue;  // known at compile time
#pragma unroll
              for (int m = 0; m < MapPairs; ++m) {
                sum[m][r] = __hfma2(pixel, weight[(p * KernelSize + q) * MapPairs + m], sum[m][r]);
              }
            }
          }
        }
      } else {
        for (int p = 0; p < shape.kernel; ++p) {
          for (int q = 0; q < shape.kernel; ++q) {
#pragma unroll
            for (int r = 0; r < kRows; ++r) {
              const int y = (first_h + r) * shape.stride + p;
              const half2 pixel = __float2half2_rn(
                  y < shape.height ? plane[y * shape.width + w * shape.stride + q] : 0.0f);
#pragma unroll
              for (int m = 0; m < MapPairs; ++m) {
                sum[m][r] =
                    __hfma2(pixel, weight[(p * shape.kernel + q) * MapPairs + m], sum[m][r]);
              }
            }
          }
        }
      }
    }
#pragma unroll
    for (int m = 0; m < 2 * MapPairs; ++m) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (first_map + m < shape.out_channels && first_h + r < shape.out_height()) {
          const half2 both = sum[m / 2][r];
          output[b * shape.output_image_size() +
                 ((first_map + m) * shape.out_height() + first_h + r) * shape.out_width() + w] =
              m % 2 == 0 ? __low2float(both) : __high2float(both);
        }
      }
    }
  }
}

class Half2 final : public convlab::DeviceConvolution {
  void prepare() override {
    map_pairs_ = shape().out_channels <= 4 ? 2 : 4;
    const int groups = (shape().out_channels + 2 * map_pairs_ - 1) / (2 * map_pairs_);
    pairs_ = convlab::DeviceBuffer<half2>(std::int64_t{groups} * map_pairs_ * shape().taps());
  }

  void release() override { pairs_ = {}; }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const int count = static_cast<int>(pairs_.size());
    const dim3 pair_grid((count + kBlockSize - 1) / kBlockSize);
    pair_weights<<<pair_grid, kBlockSize>>>(pairs_.data(), weights, shape, map_pairs_, count);
    CONVLAB_CUDA_CHECK_LAUNCH(pair_grid, kBlockSize, 0);

    const auto kernel =
        convlab::for_kernel_size(shape.stride == 1 ? shape.kernel : 0, [this](auto size) {
          return map_pairs_ == 2 ? conv_forward<size(), 2> : conv_forward<size(), 4>;
        });
    const int strips = (shape.out_height() + kRows - 1) / kRows;
    const int positions = strips * shape.out_width();
    const int group_maps = 2 * map_pairs_;
    const int group_pairs = map_pairs_ * shape.taps();
    convlab::for_each_constant_group<half>(shape, group_maps, [&](int first_map, int maps) {
      const int first = first_map / group_maps;
      const int groups = (maps + group_maps - 1) / group_maps;
      CONVLAB_CUDA_CHECK(cudaMemcpyToSymbolAsync(
          constant_weights, pairs_.data() + first * group_pairs,
          groups * group_pairs * sizeof(half2), 0, cudaMemcpyDeviceToDevice));
      const dim3 grid((positions + kBlockSize - 1) / kBlockSize, groups,
                      std::min(shape.batch, kMaxGridZ));
      kernel<<<grid, kBlockSize>>>(output, input, shape, first);
      CONVLAB_CUDA_CHECK_LAUNCH(grid, kBlockSize, 0);
    });
  }

  convlab::DeviceBuffer<half2> pairs_;
  int map_pairs_ = 4;
};

const convlab::LadderStage<Half2> stage("half2",
                                        "Arithmetic in half precision, two maps at a time");

}  // namespace
