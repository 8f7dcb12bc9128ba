#pragma once

// The split convolution of 16 maps by warpgroups (compute capability 9.0a).
//
// Idea     The operation of a warp (mma.sync) reaches 60 % of the peak of Hopper's tensor cores,
//          that of a warpgroup (wgmma) all of it: four warps multiply 64 × 16 by 16 × n, and the
//          right factor stays in shared memory. So the weights become the right factor (16 maps × 2
//          parities × high and low = 64 columns), and the input the left one, in registers.
// Picture  a block of three warpgroups, one for each multiprocessor; mbarriers between them:
//
//              copy engine → pixels[2] → converters (1 warpgroup)   largest value, scale, split
//                            pixels[2] → multipliers (2)            5 steps of 64 pairs each
//              copy engine ← staged[2] ← multipliers                one store of 73 984 bytes
//
//          A warp owns consecutive output rows. Its window of 7 input rows stays in registers; a
//          step is one output row and loads one input row. Row by row, for each kernel row and two
//          channels:
//
//              sums (16 pairs, 64)  += high (16 pairs, 16) · weights (16, 64 = high | low)
//              third (16 pairs, 32) += low  (16 pairs, 16) · weights (16, 32 = high)
//
//          The last two of 34 columns have their own step, in which rows replace pairs.
// Cost     224 registers for a thread of the multipliers, taken from the converters (setmaxnreg).
//          With 168 the compiler runs one operation after the other, and the layer takes 0.57 ms
//          instead of 0.43.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "column_pairs.cuh"
#include "common/base/conv_shape.hpp"
#include "common/device/bulk_copy.cuh"
#include "split_halves.cuh"
#include "warpgroup_multiply.cuh"

namespace convlab::split_by_warpgroups {

using namespace column_pairs;
using namespace split_halves;

template <int Channels, int Kernel, int Size>
struct SixteenMaps {
  static constexpr int kChannels = Channels;
  static constexpr int kMaps = 16;
  static constexpr int kKernel = Kernel;
  static constexpr int kSize = Size;
  static constexpr int kOut = Size - Kernel + 1;
  static constexpr int kInputs = Channels * Size * Size;  // of one image
  static constexpr int kOutputs = kMaps * kOut * kOut;    // of one image
  static constexpr int kWeights = kMaps * Channels * Kernel * Kernel;
  static constexpr int kChannelPairs = Channels / 2;
  static constexpr int kColumns = 4 * kMaps;  // of a right factor: maps × 2 parities, high and low
  static constexpr int kFactor = 16 * kColumns;                  // halves of a right factor
  static constexpr int kBlockRow = 8 * kColumns * sizeof(half);  // bytes of its blocks of 8 rows

  static bool fits(const ConvShape& s) {
    return s.in_channels == Channels && s.out_channels == kMaps && s.kernel == Kernel &&
           s.stride == 1 && s.height == Size && s.width == Size;
  }
  static_assert(kOut == 2 * kTileColumns + 2, "a warp computes 32 columns, two are left");
  static_assert(Channels % 2 == 0 && Size % 2 == 0 && Kernel <= 7);
  static_assert(kInputs % 4 == 0 && kOutputs % 4 == 0);
};

constexpr int kWarpgroup = 4 * kWarp;
constexpr int kMultipliers = 2 * kWarpgroup;
constexpr int kConverters = kWarpgroup;
constexpr int kThreads = kMultipliers + kConverters;
constexpr int kSlots = 2;
constexpr int kMultiplierRegisters = 224;  // of a thread; see setmaxnreg
constexpr int kConverterRegisters = 56;
static_assert(kMultiplierRegisters * kMultipliers + kConverterRegisters * kConverters <= 65536);

template <class Layer>
struct SixteenMapsShared {
  alignas(128) float staged[kSlots][Layer::kOutputs];         // (map, row, column)
  alignas(128) SplitPair pixels[kSlots][Layer::kInputs / 2];  // (channel, row, pair)
  alignas(128) half factors[Layer::kKernel * Layer::kChannelPairs * Layer::kFactor];
  float converter_max[kConverters / kWarp];
  float weight_max[kThreads / kWarp];
  float down[kSlots];  // the inverse of the scale of an image
  Barrier loaded[kSlots];
  Barrier converted[kSlots];
  Barrier used[kSlots];
  Barrier computed[kSlots];
};

// Right factor (p, c): rows are 2 channels × 8 taps; column 8j + 2q + parity is map map_of(j, q),
// and columns 32 … 63 are the low halves of columns 0 … 31.
__device__ inline int map_of(int j, int q) {
  return j / 2 * 8 + 2 * q + j % 2;
}

#if CONVLAB_WARPGROUP_MULTIPLY

template <class Layer>
__device__ void make_factors(SixteenMapsShared<Layer>& shared, const float* weights, float up) {
  constexpr int kHighColumns = Layer::kColumns / 2;
  constexpr int kAll = Layer::kKernel * Layer::kChannelPairs * 16 * kHighColumns;
  for (int i = threadIdx.x; i < kAll; i += kThreads) {
    const int t = i % 8;
    const int column = i / 8 % kHighColumns;
    const int half_of_rows = i / 8 / kHighColumns % 2;
    const int c = i / 16 / kHighColumns % Layer::kChannelPairs;
    const int p = i / 16 / kHighColumns / Layer::kChannelPairs;
    const int tap = t - column % 2;
    const int map = map_of(column / 8, column % 8 / 2);
    const int channel = 2 * c + half_of_rows;
    const float value =
        tap >= 0 && tap < Layer::kKernel
            ? up * weights[((map * Layer::kChannels + channel) * Layer::kKernel + p) *
                               Layer::kKernel +
                           tap]
            : 0.0f;
    const half high = __float2half_rn(value);
    half* place = shared.factors + (p * Layer::kChannelPairs + c) * Layer::kFactor +
                  half_of_rows * 8 * Layer::kColumns + column * 8 + t;
    place[0] = high;
    place[kHighColumns * 8] = __float2half_rn(kLowUp * (value - __half2float(high)));
  }
}

// 16 positions × 16 taps: two output rows or column pairs, `apart` pixel pairs apart.
struct Window {
  HalfPair high[4];
  HalfPair low[4];

  __device__ void load(const SplitPair* taps, int apart, int plane) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const SplitPair pair = taps[i % 2 * apart + i / 2 * plane];
      high[i] = pair.high;
      low[i] = pair.low;
    }
  }
};

#endif  // CONVLAB_WARPGROUP_MULTIPLY

template <class Layer>
__global__ void __launch_bounds__(CONVLAB_WARPGROUP_MULTIPLY ? kThreads : 1, 1)
    convolve_sixteen_maps(float* __restrict__ output, const float* __restrict__ input,
                          const float* __restrict__ weights, int batch) {
#if CONVLAB_WARPGROUP_MULTIPLY
  extern __shared__ __align__(128) char memory[];
  auto& shared = *reinterpret_cast<SixteenMapsShared<Layer>*>(memory);
  constexpr int kChannelPairs = Layer::kChannelPairs;
  constexpr int kKernel = Layer::kKernel;
  constexpr int kRowPairs = Layer::kSize / 2;
  constexpr int kPlanePairs = Layer::kSize * kRowPairs;
  constexpr int kOut = Layer::kOut;
  const int thread = threadIdx.x;
  const int lane = thread % kWarp;
  const int warp = thread / kWarp;

  if (thread == 0) {
    for (int i = 0; i < kSlots; ++i) {
      shared.loaded[i].init(1);
      shared.converted[i].init(kConverters);
      shared.used[i].init(kMultipliers);
      shared.computed[i].init(kMultipliers);
    }
  }
  float weight_max = 0.0f;
  for (int i = thread; i < Layer::kWeights; i += kThreads) {
    weight_max = fmaxf(weight_max, fabsf(weights[i]));
  }
  weight_max = warp_max(weight_max);
  if (lane == 0) shared.weight_max[warp] = weight_max;
  __syncthreads();
  for (int i = 0; i < kThreads / kWarp; ++i) weight_max = fmaxf(weight_max, shared.weight_max[i]);
  const Scale weight_scale = scale_for(weight_max);
  if (thread == kMultipliers && static_cast<int>(blockIdx.x) < batch) {
    shared.loaded[0].arrive_expecting(sizeof(float) * Layer::kInputs);
    bulk_load(shared.pixels[0], input + std::int64_t{blockIdx.x} * Layer::kInputs,
              sizeof(float) * Layer::kInputs, shared.loaded[0]);
  }
  make_factors(shared, weights, weight_scale.up);
  fence_shared_for_engines();
  __syncthreads();

  if (warp >= kMultipliers / kWarp) {
    give_registers<kConverterRegisters>();
    const int converter = thread - kMultipliers;
    const auto store = [&](int turn) {  // the outputs of that turn, when they are computed
      const int image = blockIdx.x + turn * gridDim.x;
      shared.computed[turn % kSlots].wait(turn / kSlots % 2);
      bulk_store(output + std::int64_t{image} * Layer::kOutputs, shared.staged[turn % kSlots],
                 sizeof(float) * Layer::kOutputs);
      bulk_commit();
    };
    int turn = 0;
    for (int image = blockIdx.x; image < batch; image += gridDim.x, ++turn) {
      const int slot = turn % kSlots;
      shared.loaded[slot].wait(turn / kSlots % 2);
      float4* fours = reinterpret_cast<float4*>(shared.pixels[slot]);
      float input_max = 0.0f;
#pragma unroll 4
      for (int i = converter; i < Layer::kInputs / 4; i += kConverters) {
        input_max = fmaxf(input_max, largest(fours[i]));
      }
      input_max = warp_max(input_max);
      if (lane == 0) shared.converter_max[converter / kWarp] = input_max;
      asm volatile("bar.sync 1, %0;" ::"n"(kConverters) : "memory");
      for (int i = 0; i < kConverters / kWarp; ++i) {
        input_max = fmaxf(input_max, shared.converter_max[i]);
      }
      const Scale scale = scale_for(input_max);
#pragma unroll 4
      for (int i = converter; i < Layer::kInputs / 4; i += kConverters) {
        const float4 four = fours[i];
        const SplitPair first = split(scale.up * four.x, scale.up * four.y);
        const SplitPair second = split(scale.up * four.z, scale.up * four.w);
        reinterpret_cast<uint4*>(fours)[i] =
            make_uint4(first.high, first.low, second.high, second.low);
      }
      if (converter == 0) {
        shared.down[slot] = scale.down;
        bulk_wait_read<0>();  // the image before the last is stored: its buffer is free
      }
      shared.converted[slot].arrive();
      if (converter == 0) {
        const int next = image + gridDim.x;
        const int other = (turn + 1) % kSlots;
        if (turn > 0) shared.used[other].wait((turn - 1) / kSlots % 2);
        if (next < batch) {
          fence_shared_for_engines();
          shared.loaded[other].arrive_expecting(sizeof(float) * Layer::kInputs);
          bulk_load(shared.pixels[other], input + std::int64_t{next} * Layer::kInputs,
                    sizeof(float) * Layer::kInputs, shared.loaded[other]);
        }
        if (turn > 0) store(turn - 1);
      }
      // No thread writes converter_max again before this.
      asm volatile("bar.sync 1, %0;" ::"n"(kConverters) : "memory");
    }
    if (converter == 0 && turn > 0) {
      store(turn - 1);
      bulk_wait_read<0>();
    }
  } else {
    take_registers<kMultiplierRegisters>();
    const int g = lane / 4;
    const int q = lane % 4;
    const int group = warp / 4;
    // The first warpgroup computes rows 0 … 19, 5 in each warp; the second one rows 20 … 33, 4 in
    // each warp, of which two are computed twice, and columns 32 and 33.
    const int first_row = group == 0 ? warp * 5 : 20 + (warp - 4) * 4 - max(warp - 5, 0);
    const int owned_from = group == 1 && warp > 5 ? 1 : 0;
    const int steps = group == 0 ? 5 : 4;
    const std::uint64_t factors =
        right_descriptor(shared.factors, Layer::kBlockRow, 8 * 8 * sizeof(half));
    constexpr int kFactorStep = Layer::kFactor * sizeof(half) / 16;

    int turn = 0;
    for (int image = blockIdx.x; image < batch; image += gridDim.x, ++turn) {
      const int slot = turn % kSlots;
      const int parity = turn / kSlots % 2;
      shared.converted[slot].wait(parity);
      const SplitPair* taps = shared.pixels[slot] + first_row * kRowPairs + g + q;
      const float down = shared.down[slot];
      float* staged = shared.staged[slot];
      Window window[kKernel][kChannelPairs];
#pragma unroll
      for (int p = 0; p < kKernel; ++p) {
#pragma unroll
        for (int c = 0; c < kChannelPairs; ++c) {
          window[p][c].load(taps + 2 * c * kPlanePairs + p * kRowPairs, 8, kPlanePairs);
        }
      }

#pragma unroll
      for (int step = 0; step < 5; ++step) {
        const bool rest = step == 4 && steps == 4;  // of the columns
        if (step > 0) {
          if (rest) {
            const int row = min(warp % 4 * 16 + g, kOut - 1);
            const int other_row = min(row + 8, kOut - 1);
            const SplitPair* corner = shared.pixels[slot] + row * kRowPairs + kTileColumns + q;
#pragma unroll
            for (int p = 0; p < kKernel; ++p) {
#pragma unroll
              for (int c = 0; c < kChannelPairs; ++c) {
                window[(step + p) % kKernel][c].load(corner + 2 * c * kPlanePairs + p * kRowPairs,
                                                     (other_row - row) * kRowPairs, kPlanePairs);
              }
            }
          } else {
#pragma unroll
            for (int c = 0; c < kChannelPairs; ++c) {
              window[(step + kKernel - 1) % kKernel][c].load(
                  taps + 2 * c * kPlanePairs + (step + kKernel - 1) * kRowPairs, 8, kPlanePairs);
            }
          }
        }
        if (step == 4) shared.used[slot].arrive();

        float sums[32];   // 16 of high · high, 16 of high · low
        float third[16];  // of low · high
        multiply_begin();
#pragma unroll
        for (int p = 0; p < kKernel; ++p) {
#pragma unroll
          for (int c = 0; c < kChannelPairs; ++c) {
            const Window& left = window[(step + p) % kKernel][c];
            const std::uint64_t right = factors + (p * kChannelPairs + c) * kFactorStep;
            multiply_add_64(sums, left.high, right, p + c > 0);
            multiply_add_32(third, left.low, right, p + c > 0);
          }
        }
        multiply_commit();
        multiply_wait();
#pragma unroll
        for (int i = 0; i < 32; ++i) keep_here(sums[i]);
#pragma unroll
        for (int i = 0; i < 16; ++i) keep_here(third[i]);

#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            const int at = 4 * j + 2 * i;
            float2 two;
            two.x = join(sums[at], sums[16 + at] + third[at]) * down * weight_scale.down;
            two.y = join(sums[at + 1], sums[17 + at] + third[at + 1]) * down * weight_scale.down;
            float* map = staged + map_of(j, q) * kOut * kOut;
            if (rest) {
              const int row = warp % 4 * 16 + g + 8 * i;
              if (row < kOut) {
                *reinterpret_cast<float2*>(map + row * kOut + 2 * kTileColumns) = two;
              }
            } else if (step >= owned_from) {
              *reinterpret_cast<float2*>(map + (first_row + step) * kOut + 2 * (g + 8 * i)) = two;
            }
          }
        }
      }
      fence_shared_for_engines();
      shared.computed[slot].arrive();
    }
  }
#else
  (void)output, (void)input, (void)weights, (void)batch;
#endif  // CONVLAB_WARPGROUP_MULTIPLY
}

}  // namespace convlab::split_by_warpgroups
