#pragma once

// The convolution by definition, with sums and weights in registers.
//
// Idea     A multiply-add reads three registers, and the register file delivers them at full speed
//          only if they lie in different banks. A weight that is the same for all 32 threads can
//          come from a uniform register instead: one copy for the warp, outside the banks. The
//          compiler uses one if it can prove that all threads read the same address: in constant
//          memory, with an index that depends only on the block and on loop counters.
// Picture  a thread has one column, Rows rows and Maps maps. For each channel c and kernel column
//          q:
//
//              pixels (Rows + K - 1)   from shared memory, four in a load
//              weights (K, Maps)       uniform registers
//              sums (Maps, Rows)  +=   pixels[y + p] · weight[p][m]: K · Maps · Rows multiply-adds
//
//          A warp of a block has 32 columns and one group of maps. First the block stores the
//          pixels that it needs column after column: then four rows are one load, and all groups
//          share it.
// Cost     the weights are data, so each launch orders them and copies them to constant memory: two
//          small steps more, which should be nodes of one graph with the kernel.
//
// The loops over c and q are not unrolled. Otherwise the code would not fit into the instruction
// cache.

#include <cuda_runtime.h>

#include <cstdint>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"

namespace convlab::direct {

constexpr int kConstantFloats = 16384;  // 64 KiB, all of it

// (group of maps, channel, kernel column, kernel row, map of the group)
static __constant__ float constant_weights[kConstantFloats];

/// A thread computes Rows outputs of one column in Maps maps: Rows · Maps sums in registers.
/// @tparam Warps  warps that run on a multiprocessor at the same time: each thread gets 65536 / (32
/// · Warps) registers
template <int Channels, int AllMaps, int Kernel, int Size, int Rows, int Maps, int Warps>
struct DirectLayer {
  static constexpr int kChannels = Channels;
  static constexpr int kAllMaps = AllMaps;
  static constexpr int kKernel = Kernel;
  static constexpr int kSize = Size;
  static constexpr int kRows = Rows;
  static constexpr int kMaps = Maps;
  static constexpr int kOut = Size - Kernel + 1;
  static constexpr int kGroups = AllMaps / Maps;
  static constexpr int kStrips = kOut / Rows;
  static constexpr int kWeights = AllMaps * Channels * Kernel * Kernel;
  static constexpr int kWarp = 32;
  static constexpr int kMostWarps = 4;  // of a block, if a warp has no other group to share with
  static constexpr int kItems = kGroups < kMostWarps ? kMostWarps / kGroups * kWarp : kWarp;
  static constexpr int kThreads = kItems * kGroups;
  // Items, the columns of all strips of all images, reach into further strips; each has K - 1 more
  // columns of pixels.
  static constexpr int kColumns = kItems + (Kernel - 1) * (1 + (kItems + kOut - 2) / kOut);
  static constexpr int kPixels = Rows + Kernel - 1;  // of a column
  // Eight threads load 16 bytes each without a bank conflict: an odd number of fours lies between.
  static constexpr int kPitch = (kPixels + 3) / 4 / 2 * 8 + 4;
  static constexpr int kChannelBytes = kColumns * kPitch * sizeof(float);
  static constexpr int kMostBytes = 48 << 10;  // static shared memory
  static constexpr int kAtOnce =               // channels
      Channels * kChannelBytes <= kMostBytes ? Channels : Channels / 2;
  // A long sum in one register loses accuracy: with more taps each channel has its own sum.
  static constexpr int kMostTapsOfOneSum = 300;
  static constexpr bool kSumsApart = Channels * Kernel * Kernel > kMostTapsOfOneSum;
  static constexpr int kBlocks = Warps * kWarp / kThreads;  // of a multiprocessor

  static bool fits(const ConvShape& s) {
    return s.in_channels == Channels && s.out_channels == AllMaps && s.kernel == Kernel &&
           s.stride == 1 && s.height == Size && s.width == Size;
  }
  static_assert(kOut % Rows == 0 && AllMaps % Maps == 0 && kWeights <= kConstantFloats);
  static_assert(Channels % kAtOnce == 0 && kAtOnce * kChannelBytes <= kMostBytes);
};

template <class L>
__global__ void order_weights(float* __restrict__ ordered, const float* __restrict__ weights) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= L::kWeights) return;
  const int q = i % L::kKernel;
  const int p = i / L::kKernel % L::kKernel;
  const int c = i / L::kKernel / L::kKernel % L::kChannels;
  const int map = i / L::kKernel / L::kKernel / L::kChannels;
  const int row = (map / L::kMaps * L::kChannels + c) * L::kKernel + q;
  ordered[(row * L::kKernel + p) * L::kMaps + map % L::kMaps] = weights[i];
}

/// Pixels of some channels for the block's items, column after column.
template <class L>
struct DirectPixels {
  alignas(16) float at[L::kAtOnce][L::kColumns][L::kPitch];

  /// All threads call it, between two barriers.
  /// @param input  from the first of these channels on
  /// @param first  the first column of pixels, counted over all strips of all images
  /// @param end    their number
  __device__ void load(const float* input, std::int64_t first, std::int64_t end) {
    for (int i = threadIdx.x; i < L::kAtOnce * L::kColumns; i += L::kThreads) {
      const int c = i / L::kColumns;
      const std::int64_t column = min(first + i % L::kColumns, end - 1);
      const std::int64_t strip = column / L::kSize;
      const std::int64_t image = strip / L::kStrips;
      const float* top = input + (image * L::kChannels + c) * (L::kSize * L::kSize) +
                         (strip - image * L::kStrips) * (L::kRows * L::kSize) +
                         (column - strip * L::kSize);
      float pixel[(L::kPixels + 3) / 4 * 4] = {};
#pragma unroll
      for (int y = 0; y < L::kPixels; ++y) pixel[y] = top[y * L::kSize];
#pragma unroll
      for (int y = 0; y < L::kPixels; y += 4) {
        *reinterpret_cast<float4*>(&at[c][i % L::kColumns][y]) =
            make_float4(pixel[y], pixel[y + 1], pixel[y + 2], pixel[y + 3]);
      }
    }
  }
};

/// sums += the products of one column of pixels.
template <class L>
__device__ void add_products(float (&sums)[L::kMaps][L::kRows], const float* column,
                             const float* weight) {
  float pixels[(L::kPixels + 3) / 4 * 4];
#pragma unroll
  for (int y = 0; y < L::kPixels; y += 4) {
    const float4 four = *reinterpret_cast<const float4*>(column + y);
    pixels[y] = four.x;
    pixels[y + 1] = four.y;
    pixels[y + 2] = four.z;
    pixels[y + 3] = four.w;
  }
#pragma unroll
  for (int p = 0; p < L::kKernel; ++p) {
#pragma unroll
    for (int m = 0; m < L::kMaps; ++m) {
#pragma unroll
      for (int y = 0; y < L::kRows; ++y) {
        sums[m][y] = fmaf(pixels[y + p], weight[p * L::kMaps + m], sums[m][y]);
      }
    }
  }
}

template <class L>
__global__ void __launch_bounds__(L::kThreads, L::kBlocks)
    convolve_direct(float* __restrict__ output, const float* __restrict__ input, int batch) {
  __shared__ DirectPixels<L> pixels;
  const std::int64_t strips = std::int64_t{batch} * L::kStrips;
  const std::int64_t first_item = std::int64_t{blockIdx.x} * L::kItems;
  const std::int64_t first_strip = first_item / L::kOut;
  const std::int64_t first_column = first_strip * L::kSize + (first_item - first_strip * L::kOut);
  // A shuffle tells the compiler that all threads of a warp have the same group.
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x / L::kWarp, 0);
  const int group = warp % L::kGroups;
  const std::int64_t own = first_item + warp / L::kGroups * L::kWarp + threadIdx.x % L::kWarp;
  const std::int64_t item = min(own, strips * L::kOut - 1);
  const std::int64_t strip = item / L::kOut;
  const int column = static_cast<int>(item - strip * L::kOut);
  const int at = static_cast<int>(strip * L::kSize + column - first_column);

  float sums[L::kMaps][L::kRows] = {};
  [[maybe_unused]] float totals[L::kMaps][L::kRows] = {};  // used only if kSumsApart
  const float* weight = constant_weights + group * (L::kWeights / L::kGroups);
#pragma unroll 1
  for (int first = 0; first < L::kChannels; first += L::kAtOnce) {
    if (first > 0) __syncthreads();
    pixels.load(input + first * (L::kSize * L::kSize), first_column, strips * L::kSize);
    __syncthreads();
#pragma unroll 1
    for (int c = 0; c < L::kAtOnce; ++c) {
#pragma unroll 1
      for (int q = 0; q < L::kKernel; ++q, weight += L::kKernel * L::kMaps) {
        add_products<L>(sums, pixels.at[c][at + q], weight);
      }
      if constexpr (L::kSumsApart) {
#pragma unroll
        for (int m = 0; m < L::kMaps; ++m) {
#pragma unroll
          for (int y = 0; y < L::kRows; ++y) {
            totals[m][y] += sums[m][y];
            sums[m][y] = 0.0f;
          }
        }
      }
    }
  }

  if (own != item) return;
  const std::int64_t image = strip / L::kStrips;
  float* out = output + (image * L::kAllMaps + group * L::kMaps) * (L::kOut * L::kOut) +
               (strip - image * L::kStrips) * (L::kRows * L::kOut) + column;
#pragma unroll
  for (int m = 0; m < L::kMaps; ++m) {
#pragma unroll
    for (int y = 0; y < L::kRows; ++y) {
      out[(m * L::kOut + y) * L::kOut] = L::kSumsApart ? totals[m][y] : sums[m][y];
    }
  }
}

/// output = input ∗ weights if the shape fits L; otherwise does nothing.
/// @param ordered  kConstantFloats of device memory, overwritten
/// @return whether it fits
template <class L>
bool launch_direct(float* output, const float* input, const float* weights, float* ordered,
                   const ConvShape& shape, cudaStream_t stream) {
  if (!L::fits(shape)) return false;
  constexpr int kOrderBlock = 128;
  constexpr int kOrderGrid = (L::kWeights + kOrderBlock - 1) / kOrderBlock;
  order_weights<L><<<kOrderGrid, kOrderBlock, 0, stream>>>(ordered, weights);
  CONVLAB_CUDA_CHECK_LAUNCH(kOrderGrid, kOrderBlock, 0);
  CONVLAB_CUDA_CHECK(cudaMemcpyToSymbolAsync(constant_weights, ordered, sizeof(float) * L::kWeights,
                                             0, cudaMemcpyDeviceToDevice, stream));
  const std::int64_t items = std::int64_t{shape.batch} * L::kStrips * L::kOut;
  const auto grid = static_cast<unsigned>((items + L::kItems - 1) / L::kItems);
  convolve_direct<L><<<grid, L::kThreads, 0, stream>>>(output, input, shape.batch);
  CONVLAB_CUDA_CHECK_LAUNCH(grid, L::kThreads, 0);
  return true;
}

}  // namespace convlab::direct
