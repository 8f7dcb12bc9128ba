// HEADER LATER
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "bulk_copy.cuh"
#include "column_pairs.cuh"
#include "common/milestone/device_convolution.cuh"
#include "direct_convolution.cuh"
#include "general_convolution.cuh"
#include "matrix_fragments.cuh"
#include "warpgroup_multiply.cuh"

namespace {

using namespace convlab::column_pairs;
using convlab::BlockLoad;
using convlab::ConvShape;
using convlab::HalfPair;
using convlab::LeftFragment;
using convlab::RightFragment;
using convlab::SumFragment;
using convlab::direct::DirectLayer;
using convlab::direct::launch_direct;

// Two floats as two halves each: value ≈ high + low, 22 bits of 24. In place of the floats.
struct SplitPair {
  HalfPair high;
  HalfPair low;
};
static_assert(sizeof(SplitPair) == sizeof(float2));

__device__ SplitPair split(float first, float second) {
  const half2 high = __floats2half2_rn(first, second);
  return {convlab::to_pair(high),
          convlab::round_to_halves(first - __low2float(high), second - __high2float(high))};
}

// Halves reach from 2^-24 to 65504. A power of two moves the largest value to 2^14 … 2^15: nothing
// overflows, and what is lost below is 2^-39 of the largest value.
struct Scale {
  float up;
  float down;  // 1 / up
};

__device__ Scale scale_for(float largest) {
  constexpr int kTarget = 14;
  constexpr int kBias = 127;
  const int exponent = min(max(__float_as_int(largest) >> 23, kTarget + 1), 2 * kBias);
  return {__int_as_float((2 * kBias + kTarget - exponent) << 23),
          __int_as_float((exponent - kTarget) << 23)};
}

__device__ float warp_max(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

__device__ float largest(float4 v) {
  return fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
}

// ---------------------------------------------------------------------------------------------
// One input channel.

template <class Layer>
struct OneChannelShared {
  // (input rows, pairs), two strips in turn; floats at first
  alignas(128) SplitPair pixels[2][Layer::kStripInputs / 2 + Layer::kPadding];
  SplitPair table[Layer::kTable];  // (parity, map, kernel row, 4 pairs of taps)
  float weights[Layer::kWeights];
  float input_max[2][Layer::kWarps];
  float weight_max[Layer::kWarps];
  alignas(128) float staged[Layer::kStaged];  // (map, strip rows, out)
  BlockLoad load;
};

// A block computes `strips` strips of one image, one after the other, so that splitting the weights
// pays.
template <class Layer>
__global__ void __launch_bounds__(Layer::kThreads, Layer::kMapTiles > 1 ? 2 : 4)
    convolve_one_channel(float* __restrict__ output, const float* __restrict__ input,
                         const float* __restrict__ weights, int strips) {
  extern __shared__ __align__(128) char memory[];
  auto& shared = *reinterpret_cast<OneChannelShared<Layer>*>(memory);
  constexpr int kOut = Layer::kOut;
  constexpr int kKernel = Layer::kKernel;
  constexpr int kRowPairs = Layer::kSize / 2;
  const int thread = threadIdx.x;
  const int lane = thread % kWarp;
  const int tile = thread / kWarp;
  const int blocks_per_image = Layer::kStrips / strips;
  const int image = blockIdx.x / blocks_per_image;
  const int first_strip = blockIdx.x % blocks_per_image * strips;
  const float* source = input + std::int64_t{image} * Layer::kSize * Layer::kSize +
                        first_strip * Layer::kStripRows * Layer::kSize;

  shared.load.init();
  shared.load.start(shared.pixels[0], source, sizeof(float) * Layer::kStripInputs);
  float weight_max = 0.0f;
  for (int i = thread; i < Layer::kWeights; i += Layer::kThreads) {
    shared.weights[i] = weights[i];
    weight_max = fmaxf(weight_max, fabsf(shared.weights[i]));
  }
  weight_max = warp_max(weight_max);
  if (lane == 0) shared.weight_max[tile] = weight_max;
  if (thread < Layer::kPadding) {
    for (int i = 0; i < 2; ++i) shared.pixels[i][Layer::kStripInputs / 2 + thread] = {0, 0};
  }
  __syncthreads();
  for (int i = 0; i < Layer::kWarps; ++i) weight_max = fmaxf(weight_max, shared.weight_max[i]);
  const Scale weight_scale = scale_for(weight_max);
#pragma unroll
  for (int i = thread; i < Layer::kTableEntries; i += Layer::kThreads) {
    const typename Layer::TableEntry entry(i);
    const float2 two = weight_pair(shared.weights + entry.weight_row(), kKernel, entry.parity,
                                   entry.q, entry.real());
    shared.table[entry.place()] = split(weight_scale.up * two.x, weight_scale.up * two.y);
  }
  __syncthreads();

  const int g = lane / 4;
  const int q = lane % 4;
  const int row_of_two = g / 4;
  const int column = min(tile * kTileColumns, kOut - kTileColumns);
  LeftFragment high[Layer::kMapTiles][Layer::kSteps];  // (16 map-rows, 16 taps) each
  LeftFragment low[Layer::kMapTiles][Layer::kSteps];
#pragma unroll
  for (int t = 0; t < Layer::kMapTiles; ++t) {
#pragma unroll
    for (int j = 0; j < Layer::kSteps; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const SplitPair pair = shared.table[Layer::table_place(
            i % 2, t * 4 + g % 4, 2 * j + i / 2 - row_of_two, q)];
        high[t][j].pair[i] = pair.high;
        low[t][j].pair[i] = pair.low;
      }
    }
  }

#pragma unroll 1
  for (int strip = 0; strip < strips; ++strip) {
    SplitPair* pixels = shared.pixels[strip % 2];
    shared.load.wait(strip % 2);
    constexpr int kFours = Layer::kStripInputs / 4;
    constexpr int kFoursPerThread = (kFours + Layer::kThreads - 1) / Layer::kThreads;
    float4 fours[kFoursPerThread];
    float input_max = 0.0f;
#pragma unroll
    for (int i = 0; i < kFoursPerThread; ++i) {
      const int place = i * Layer::kThreads + thread;
      if (place < kFours) {
        fours[i] = reinterpret_cast<const float4*>(pixels)[place];
        input_max = fmaxf(input_max, largest(fours[i]));
      }
    }
    input_max = warp_max(input_max);
    if (lane == 0) shared.input_max[strip % 2][tile] = input_max;
    __syncthreads();  // the strip before has been computed, too: its place is free
    if (strip + 1 < strips) {
      shared.load.start(shared.pixels[(strip + 1) % 2],
                        source + (strip + 1) * Layer::kStripRows * Layer::kSize,
                        sizeof(float) * Layer::kStripInputs);
    }
    for (int i = 0; i < Layer::kWarps; ++i) {
      input_max = fmaxf(input_max, shared.input_max[strip % 2][i]);
    }
    const Scale input_scale = scale_for(input_max);
#pragma unroll
    for (int i = 0; i < kFoursPerThread; ++i) {
      const int place = i * Layer::kThreads + thread;
      if (place < kFours) {
        const float up = input_scale.up;
        const SplitPair first = split(up * fours[i].x, up * fours[i].y);
        const SplitPair second = split(up * fours[i].z, up * fours[i].w);
        reinterpret_cast<uint4*>(pixels)[place] =
            make_uint4(first.high, first.low, second.high, second.low);
      }
    }
    if constexpr (Layer::kDirect) {
      __syncthreads();
    } else {
      convlab::block_store_wait();  // of the strip before; it is a barrier, too
    }

    const int first_row = (first_strip + strip) * Layer::kStripRows;
    const SplitPair* taps = pixels + column / 2 + g + q;
    SplitPair row[Layer::kStripInputRows];
#pragma unroll
    for (int y = 0; y < kKernel - 1; ++y) row[y] = taps[y * kRowPairs];
#pragma unroll
    for (int y = 0; y < Layer::kStripRows; y += 2) {
#pragma unroll
      for (int i = kKernel - 1; i <= kKernel; ++i) row[y + i] = taps[(y + i) * kRowPairs];
#pragma unroll
      for (int t = 0; t < Layer::kMapTiles; ++t) {
        SumFragment sums = {};
        SumFragment corrections = {};
#pragma unroll
        for (int j = 0; j < Layer::kSteps; ++j) {
          const SplitPair& upper = row[y + 2 * j];
          const SplitPair& lower = row[y + 2 * j + 1];
          const RightFragment right_high = {{upper.high, lower.high}};
          const RightFragment right_low = {{upper.low, lower.low}};
          convlab::multiply_add(sums, high[t][j], right_high);
          convlab::multiply_add(corrections, low[t][j], right_high);
          convlab::multiply_add(corrections, high[t][j], right_low);
        }
        for (int i = 0; i < 4; ++i) {
          sums.sum[i] = (sums.sum[i] + corrections.sum[i]) * input_scale.down * weight_scale.down;
        }
        const float4 four = make_float4(sums.sum[0], sums.sum[2], sums.sum[1], sums.sum[3]);
        const int map = t * 4 + g % 4;
        if (Layer::kMaps % 4 != 0 && map >= Layer::kMaps) continue;
        const int strip_row = y + row_of_two;
        if constexpr (Layer::kDirect) {
          const std::int64_t place = (std::int64_t{image} * Layer::kMaps + map) * kOut * kOut +
                                     (first_row + strip_row) * kOut + column + 4 * q;
          __stcs(reinterpret_cast<float4*>(output + place), four);  // nobody reads it soon
        } else {
          store_new_columns(shared.staged + (map * Layer::kStripRows + strip_row) * kOut,
                            column + 4 * q, tile * kTileColumns, four);
        }
      }
    }
    if constexpr (!Layer::kDirect) {
      convlab::block_store(
          output + std::int64_t{image} * Layer::kMaps * kOut * kOut + first_row * kOut,
          shared.staged, sizeof(float) * Layer::kStripRows * kOut, Layer::kMaps,
          sizeof(float) * kOut * kOut);
    }
  }
  if constexpr (!Layer::kDirect) convlab::block_store_wait();
}

// ---------------------------------------------------------------------------------------------
// Several input channels, 16 maps, by warpgroups (compute capability 9.0).

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
  static constexpr int kFactor = 16 * kColumns;  // halves of a right factor
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
#ifndef MREG
#define MREG 224
#define CREG 56
#endif
constexpr int kMultiplierRegisters = MREG;
constexpr int kConverterRegisters = CREG;
static_assert(kMultiplierRegisters * kMultipliers + kConverterRegisters * kConverters <= 65536);

using convlab::Barrier;

template <class Layer>
struct SixteenMapsShared {
  alignas(128) float staged[kSlots][Layer::kOutputs];         // (map, row, column)
  alignas(128) SplitPair pixels[kSlots][Layer::kInputs / 2];  // (channel, row, pair)
  alignas(128) half factors[Layer::kKernel * Layer::kChannelPairs * Layer::kFactor];
  float converter_max[kConverters / kWarp];
  float weight_max[kThreads / kWarp];
  float down[kSlots];  // undoes the scale of an image
  Barrier loaded[kSlots];
  Barrier converted[kSlots];
  Barrier used[kSlots];
  Barrier computed[kSlots];
};

// Right factor (p, c): rows are 2 channels × 8 taps; column 8j + 2q + parity is map map_of(j, q), and
// columns 32 … 63 are the low halves of columns 0 … 31.
__device__ int map_of(int j, int q) { return j / 2 * 8 + 2 * q + j % 2; }

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
                               Layer::kKernel + tap]
            : 0.0f;
    const half high = __float2half_rn(value);
    half* place = shared.factors + (p * Layer::kChannelPairs + c) * Layer::kFactor +
                  half_of_rows * 8 * Layer::kColumns + column * 8 + t;
    place[0] = high;
    place[kHighColumns * 8] = __float2half_rn(value - __half2float(high));
  }
}

// 16 positions × 16 taps: two output rows or column pairs that lie `apart` pixel pairs apart.
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
    convlab::bulk_load(shared.pixels[0], input + std::int64_t{blockIdx.x} * Layer::kInputs,
                       sizeof(float) * Layer::kInputs, shared.loaded[0]);
  }
  make_factors(shared, weights, weight_scale.up);
  convlab::fence_shared_for_engines();
  __syncthreads();

  if (warp >= kMultipliers / kWarp) {
    convlab::give_registers<kConverterRegisters>();
    const int converter = thread - kMultipliers;
    const auto store = [&](int turn) {  // the outputs of that turn, when they are computed
      const int image = blockIdx.x + turn * gridDim.x;
      shared.computed[turn % kSlots].wait(turn / kSlots % 2);
      convlab::bulk_store(output + std::int64_t{image} * Layer::kOutputs,
                          shared.staged[turn % kSlots], sizeof(float) * Layer::kOutputs);
      convlab::bulk_commit();
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
#ifdef NO_CONVERT
      for (int i = converter; i < 0; i += kConverters) {
#else
#pragma unroll 4
      for (int i = converter; i < Layer::kInputs / 4; i += kConverters) {
#endif
        const float4 four = fours[i];
        const SplitPair first = split(scale.up * four.x, scale.up * four.y);
        const SplitPair second = split(scale.up * four.z, scale.up * four.w);
        reinterpret_cast<uint4*>(fours)[i] =
            make_uint4(first.high, first.low, second.high, second.low);
      }
      if (converter == 0) {
        shared.down[slot] = scale.down;
        convlab::bulk_wait_read<0>();  // of the image before the last: its buffer is free
      }
      shared.converted[slot].arrive();
      if (converter == 0) {
        const int next = image + gridDim.x;
        const int other = (turn + 1) % kSlots;
        if (turn > 0) shared.used[other].wait((turn - 1) / kSlots % 2);
        if (next < batch) {
          convlab::fence_shared_for_engines();
          shared.loaded[other].arrive_expecting(sizeof(float) * Layer::kInputs);
          convlab::bulk_load(shared.pixels[other], input + std::int64_t{next} * Layer::kInputs,
                             sizeof(float) * Layer::kInputs, shared.loaded[other]);
        }
        if (turn > 0) store(turn - 1);
      }
      // converter_max is written again only after this.
      asm volatile("bar.sync 1, %0;" ::"n"(kConverters) : "memory");
    }
    if (converter == 0 && turn > 0) {
      store(turn - 1);
      convlab::bulk_wait_read<0>();
    }
  } else {
    convlab::take_registers<kMultiplierRegisters>();
    const int g = lane / 4;
    const int q = lane % 4;
    const int group = warp / 4;
    // The first warpgroup computes rows 0 … 19, 5 in each warp; the second one rows 20 … 33, 4 in each
    // warp, where two are computed twice, and columns 32 and 33.
    const int first_row = group == 0 ? warp * 5 : 20 + (warp - 4) * 4 - max(warp - 5, 0);
    const int owned_from = group == 1 && warp > 5 ? 1 : 0;
    const int steps = group == 0 ? 5 : 4;
    const std::uint64_t factors =
        convlab::right_descriptor(shared.factors, Layer::kBlockRow, 8 * 8 * sizeof(half));
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
            const SplitPair* corner =
                shared.pixels[slot] + row * kRowPairs + kTileColumns + q;
#pragma unroll
            for (int p = 0; p < kKernel; ++p) {
#pragma unroll
              for (int c = 0; c < kChannelPairs; ++c) {
                window[(step + p) % kKernel][c].load(
                    corner + 2 * c * kPlanePairs + p * kRowPairs, (other_row - row) * kRowPairs,
                    kPlanePairs);
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

        float sums[32];  // 16 of high · high, 16 of high · low
        float third[16];  // of low · high
        convlab::multiply_begin();
#pragma unroll
        for (int p = 0; p < kKernel; ++p) {
#pragma unroll
          for (int c = 0; c < kChannelPairs; ++c) {
            const Window& left = window[(step + p) % kKernel][c];
            const std::uint64_t right = factors + (p * kChannelPairs + c) * kFactorStep;
#ifndef NO_MULTIPLY
            convlab::multiply_add_64(sums, left.high, right, p + c > 0);
            convlab::multiply_add_32(third, left.low, right, p + c > 0);
#endif
          }
        }
        convlab::multiply_commit();
        convlab::multiply_wait();
#pragma unroll
        for (int i = 0; i < 32; ++i) convlab::keep_here(sums[i]);
#pragma unroll
        for (int i = 0; i < 16; ++i) convlab::keep_here(third[i]);

#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            const int at = 4 * j + 2 * i;
            float2 two;
            two.x = (sums[at] + (sums[16 + at] + third[at])) * down * weight_scale.down;
            two.y = (sums[at + 1] + (sums[17 + at] + third[at + 1])) * down * weight_scale.down;
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
      convlab::fence_shared_for_engines();
      shared.computed[slot].arrive();
    }
  }
#endif  // CONVLAB_WARPGROUP_MULTIPLY
}

class Fp32Split final : public convlab::DeviceConvolution {
  void prepare() override {
    int device = 0;
    CONVLAB_CUDA_CHECK(cudaGetDevice(&device));
    CONVLAB_CUDA_CHECK(
        cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device));
    ordered_ = convlab::DeviceBuffer<float>(convlab::direct::kConstantFloats);
  }
  void release() override { ordered_ = {}; }

  template <class Layer>
  bool launch_one_channel(float* output, const float* input, const float* weights,
                          const ConvShape& shape) {
    if (!Layer::fits(shape)) return false;
    const int batch = shape.batch;
    const auto kernel = convolve_one_channel<Layer>;
    constexpr int kBytes = sizeof(OneChannelShared<Layer>);
    CONVLAB_CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
    // Few images: many short blocks that fill the GPU. Many: one block for each image.
    const int strips = batch >= kImagesPerMultiprocessor * multiprocessors_ ? Layer::kStrips : 1;
    const dim3 grid(static_cast<unsigned>(batch) * (Layer::kStrips / strips));
    kernel<<<grid, Layer::kThreads, kBytes>>>(output, input, weights, strips);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, Layer::kThreads, kBytes);
    return true;
  }

  template <class Layer>
  bool launch_sixteen_maps(float* output, const float* input, const float* weights,
                           const ConvShape& shape) {
    if (!Layer::fits(shape)) return false;
    const int batch = shape.batch;
    const auto kernel = convolve_sixteen_maps<Layer>;
    constexpr int kBytes = sizeof(SixteenMapsShared<Layer>);
    CONVLAB_CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
    const int blocks = std::min(batch, multiprocessors_);
    kernel<<<blocks, kThreads, kBytes>>>(output, input, weights, batch);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks, kThreads, kBytes);
    return true;
  }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Second layers of the other networks: more maps than this design has registers for.
    const auto direct = [&](auto layer) {
      return launch_direct<decltype(layer)>(output, input, weights, ordered_.data(), shape);
    };
    const bool done =
        launch_one_channel<OneChannel<4, 7, 86, 16>>(output, input, weights, shape) ||  // fa23
        launch_sixteen_maps<SixteenMaps<4, 7, 40>>(output, input, weights, shape) ||
        launch_one_channel<OneChannel<12, 5, 70, 6>>(output, input, weights, shape) ||  // fa19
        direct(DirectLayer<12, 24, 5, 33, 29, 4, 12>{}) ||
        launch_one_channel<OneChannel<12, 7, 72, 6>>(output, input, weights, shape) ||  // fa18
        direct(DirectLayer<12, 24, 7, 33, 9, 8, 20>{}) ||
        launch_one_channel<OneChannel<6, 5, 64, 20>>(output, input, weights, shape) ||  // sp18
        direct(DirectLayer<6, 16, 5, 30, 13, 4, 24>{});
    if (!done) convlab::launch_general_convolution(output, input, weights, shape);
  }

  static constexpr int kImagesPerMultiprocessor = 4;
  int multiprocessors_ = 0;
  convlab::DeviceBuffer<float> ordered_;  // weights on their way to constant memory
};

const convlab::ConvolutionStage<Fp32Split> stage({
    .id = "fp32-split" VARIANT,
    .title = "Single precision from half-precision tensor cores",
    .baseline = "roofline",
    .order = 170,
});

}  // namespace
