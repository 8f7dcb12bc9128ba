#pragma once

// How a convolution becomes matrix products for tensor cores: pairs of output columns.
//
// Idea     A matrix operation needs two neighbouring halves of its right factor in one register.
//          The input for output column x starts at input column x, so for odd x the pairs are not
//          aligned. So let one column of the factor stand for two output columns, 2n and 2n + 1,
//          which share eight input columns from 2n on. Both then start at an even place. The
//          weights of the odd column are shifted by one, which costs nothing.
// Picture
//              input columns    2n   2n+1  2n+2  2n+3  2n+4  2n+5  2n+6  2n+7
//              output 2n        w0   w1    w2    w3    w4    w5    w6    0       parity 0
//              output 2n + 1    0    w0    w1    w2    w3    w4    w5    w6      parity 1
//
// Cost     one of eight products is with a zero weight. A pair of halves is one aligned 32-bit
//          load, and the 32 threads of a warp touch eleven words in a row: no bank conflicts.
//
// Inputs are multiplied by zero weights, too: an infinite input makes its neighbours NaN.

#include <cuda_runtime.h>

#include <cstdint>

#include "common/base/conv_shape.hpp"
#include "common/device/bulk_copy.cuh"
#include "common/device/matrix_fragments.cuh"

namespace convlab::column_pairs {

constexpr int kWarp = 32;
constexpr int kTaps = 8;          // of one row, from an even column: 7 or 5 weights, then zeros
constexpr int kTileColumns = 16;  // of the output: 8 pairs, one for each column of a fragment

/// One input channel: a block computes a strip of rows of one image.
template <int Maps, int Kernel, int Size, int StripRows>
struct OneChannel {
  static constexpr int kMaps = Maps;
  static constexpr int kKernel = Kernel;
  static constexpr int kSize = Size;
  static constexpr int kOut = Size - Kernel + 1;
  static constexpr int kStripRows = StripRows;
  static constexpr int kStrips = kOut / StripRows;
  static constexpr int kStripInputRows = StripRows + Kernel - 1;
  static constexpr int kStripInputs = kStripInputRows * Size;
  static constexpr int kWarps = (kOut + kTileColumns - 1) / kTileColumns;
  static constexpr int kThreads = kWarps * kWarp;
  static constexpr int kMapTiles = (Maps + 3) / 4;  // 4 maps × 2 rows × 2 parities = 16
  static constexpr int kSteps = (Kernel + 1) / 2;   // 2 input rows × 8 taps = 16
  static constexpr bool kDirect = kOut % 16 == 0;   // a thread's stores fill whole sectors
  // Blocks that share a multiprocessor. With more, the registers for the weights are not enough.
  static constexpr int kBlocks = kDirect ? 6 : kMapTiles > 2 ? 5 : 4;
  static constexpr int kTableRows = 8;                  // kernel rows, then zeros
  static constexpr int kTableMap = kTableRows * 4 + 8;  // of one map; 8 more for other banks
  static constexpr int kTable = 2 * kMapTiles * 4 * kTableMap;
  static constexpr int kWeights = Maps * Kernel * Kernel;
  static constexpr int kPadding = 4;  // taps with a zero weight read beyond the end
  static constexpr int kStaged = kDirect ? 4 : Maps * StripRows * kOut;

  // The table of weights is (parity, map, kernel row, q); row -1 is the last one, zeros.
  __host__ __device__ static constexpr int table_place(int parity, int map, int p, int q) {
    return (parity * kMapTiles * 4 + map) * kTableMap + (p < 0 ? kTableRows - 1 : p) * 4 + q;
  }

  // Entry i of 2 · maps · 8 rows · 4 is weight pair q of kernel row p.
  static constexpr int kTableEntries = 2 * kMapTiles * 4 * kTableRows * 4;
  struct TableEntry {
    int q, p, map, parity;
    __device__ explicit TableEntry(int i)
        : q(i % 4),
          p(i / 4 % kTableRows),
          map(i / 4 / kTableRows % (kMapTiles * 4)),
          parity(i / 4 / kTableRows / (kMapTiles * 4)) {}
    [[nodiscard]] __device__ bool real() const { return p < kKernel && map < kMaps; }
    [[nodiscard]] __device__ int place() const { return table_place(parity, map, p, q); }
    [[nodiscard]] __device__ int weight_row() const {
      return real() ? (map * kKernel + p) * kKernel : 0;
    }
  };

  static bool fits(const ConvShape& s) {
    return s.in_channels == 1 && s.out_channels == Maps && s.kernel == Kernel && s.stride == 1 &&
           s.height == Size && s.width == Size && s.batch < (1 << 26);
  }
  static_assert(Kernel < kTableRows, "a row of zeros is needed");
  static_assert(kOut % StripRows == 0 && StripRows % 2 == 0 && Size % 2 == 0);
  static_assert(kStripInputs % 4 == 0 && (StripRows * Size) % 4 == 0);
  static_assert(kDirect || (StripRows * kOut) % 4 == 0);
};

/// The weights of one kernel row for taps 2q and 2q + 1 of a column pair: w0…w6, 0 for the even
/// output column (parity 0), 0, w0…w6 for the odd one.
/// @param real  false: returns zeros; `row` must be readable nevertheless
__device__ inline float2 weight_pair(const float* row, int kernel, int parity, int q, bool real) {
  const int tap = 2 * q - parity;
  // Loads without a condition can all be in flight at the same time.
  const float first = row[min(max(tap, 0), kernel - 1)];
  const float second = row[min(tap + 1, kernel - 1)];
  return make_float2(real && tap >= 0 && tap < kernel ? first : 0.0f,
                     real && tap + 1 < kernel ? second : 0.0f);
}

/// Stores four neighbours of an output row as two pairs, but only from column first_new on. If the
/// last tile overlaps the one before, that one stores the others.
/// @param row  in shared memory, aligned to 8 bytes; column is even
__device__ inline void store_new_columns(float* row, int column, int first_new, float4 four) {
  float2* place = reinterpret_cast<float2*>(row + column);
  if (column >= first_new) place[0] = make_float2(four.x, four.y);
  if (column + 2 >= first_new) place[1] = make_float2(four.z, four.w);
}

/// Stores four floats at once; `global` is aligned to 16 bytes.
template <Keep Time>
__device__ void store_four(float* global, float4 four) {
#if CONVLAB_BULK_COPY
  static_assert(Time != Keep::kAsUsual);
  asm volatile("st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(
                   __cvta_generic_to_global(global)),
               "f"(four.x), "f"(four.y), "f"(four.z), "f"(four.w), "l"(cache_policy<Time>())
               : "memory");
#else
  // Without a hint the compiler may split the store into four.
  __stcs(reinterpret_cast<float4*>(global), four);
#endif
}

#if CONVLAB_BULK_COPY
/// One thread prefetches global memory into the L2 cache.
__device__ inline void bulk_fetch_ahead(const void* global, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(global)),
               "r"(bytes)
               : "memory");
}
#endif

}  // namespace convlab::column_pairs
