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
//              pixels (Rows + K - 1)   one load each; neighbours in a warp load neighbours
//              weights (K, Maps)       uniform registers
//              sums (Maps, Rows)  +=   pixels[y + p] · weight[p][m]: K · Maps · Rows multiply-adds
//
// Cost     the weights are data, so each launch orders them and copies them to constant memory: two
//          small steps more.
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
  static constexpr int kItems = kOut * (kOut / Rows);  // threads of one image and group
  static constexpr int kWeights = AllMaps * Channels * Kernel * Kernel;
  static constexpr int kThreads = 64;
  // A long sum in one register loses accuracy: with more taps each channel has its own sum.
  static constexpr int kMostTapsOfOneSum = 300;
  static constexpr bool kSumsApart = Channels * Kernel * Kernel > kMostTapsOfOneSum;
  static constexpr int kBlocks = Warps * 32 / kThreads;  // of a multiprocessor

  static bool fits(const ConvShape& s) {
    return s.in_channels == Channels && s.out_channels == AllMaps && s.kernel == Kernel &&
           s.stride == 1 && s.height == Size && s.width == Size;
  }
  static_assert(kOut % Rows == 0 && AllMaps % Maps == 0 && kWeights <= kConstantFloats);
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

template <class L>
__global__ void __launch_bounds__(L::kThreads, L::kBlocks)
    convolve_direct(float* __restrict__ output, const float* __restrict__ input,
                    std::int64_t items) {
  constexpr int kKernel = L::kKernel;
  const std::int64_t item = std::int64_t{blockIdx.x} * L::kThreads + threadIdx.x;
  if (item >= items) return;
  const int group = blockIdx.y;
  const std::int64_t image = item / L::kItems;
  const int place = static_cast<int>(item - image * L::kItems);
  const int strip = place / L::kOut;
  const int column = place % L::kOut;

  float sums[L::kMaps][L::kRows] = {};
  float totals[L::kMaps][L::kRows] = {};  // zero, and removed by the compiler, unless kSumsApart
  const float* corner =
      input + image * (L::kChannels * L::kSize * L::kSize) + strip * L::kRows * L::kSize + column;
  const float* weight = constant_weights + group * (L::kWeights / L::kGroups);
#pragma unroll 1
  for (int c = 0; c < L::kChannels; ++c, corner += L::kSize * L::kSize - kKernel) {
#pragma unroll 1
    for (int q = 0; q < kKernel; ++q, ++corner, weight += kKernel * L::kMaps) {
      float pixels[L::kRows + kKernel - 1];
#pragma unroll
      for (int y = 0; y < L::kRows + kKernel - 1; ++y) pixels[y] = corner[y * L::kSize];
#pragma unroll
      for (int p = 0; p < kKernel; ++p) {
#pragma unroll
        for (int m = 0; m < L::kMaps; ++m) {
#pragma unroll
          for (int y = 0; y < L::kRows; ++y) {
            sums[m][y] = fmaf(pixels[y + p], weight[p * L::kMaps + m], sums[m][y]);
          }
        }
      }
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

  float* first = output + (image * L::kAllMaps + group * L::kMaps) * (L::kOut * L::kOut) +
                 strip * L::kRows * L::kOut + column;
#pragma unroll
  for (int m = 0; m < L::kMaps; ++m) {
#pragma unroll
    for (int y = 0; y < L::kRows; ++y) {
      first[(m * L::kOut + y) * L::kOut] = totals[m][y] + sums[m][y];
    }
  }
}

/// output = input ∗ weights if the shape fits L; otherwise does nothing.
/// @param ordered  kConstantFloats of device memory, overwritten
/// @return whether it fits
template <class L>
bool launch_direct(float* output, const float* input, const float* weights, float* ordered,
                   const ConvShape& shape) {
  if (!L::fits(shape)) return false;
  constexpr int kOrderBlock = 128;
  constexpr int kOrderGrid = (L::kWeights + kOrderBlock - 1) / kOrderBlock;
  order_weights<L><<<kOrderGrid, kOrderBlock>>>(ordered, weights);
  CONVLAB_CUDA_CHECK_LAUNCH(kOrderGrid, kOrderBlock, 0);
  CONVLAB_CUDA_CHECK(cudaMemcpyToSymbolAsync(constant_weights, ordered, sizeof(float) * L::kWeights,
                                             0, cudaMemcpyDeviceToDevice));
  const std::int64_t items = std::int64_t{shape.batch} * L::kItems;
  const dim3 grid(static_cast<unsigned>((items + L::kThreads - 1) / L::kThreads), L::kGroups);
  convolve_direct<L><<<grid, L::kThreads>>>(output, input, items);
  CONVLAB_CUDA_CHECK_LAUNCH(grid, L::kThreads, 0);
  return true;
}

}  // namespace convlab::direct
