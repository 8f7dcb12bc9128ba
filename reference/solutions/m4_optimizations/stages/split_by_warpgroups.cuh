#pragma once

// The split convolution of 16 maps by warpgroups (compute capability 9.0a).
//
// Idea     The operation of a warp (mma.sync) reaches 60 % of the peak of Hopper's tensor cores,
//          that of a warpgroup (wgmma) all of it, if nothing else needs its shared memory and its
//          warps. It reads the right factor from shared memory, in blocks of 8 columns: each column
//          is 16 bytes, and 8 columns lie side by side. So let 16 bytes be a cell, 2 rows × 4
//          channels of halves at one column x. Then a window is a row of cells, the windows of
//          neighbours overlap in memory, and a block of 8 windows begins at any cell: the pixels
//          are stored once, and no thread loads them again. The weights are the left factor and
//          stay in registers.
// Picture  a block of three warpgroups, one for each multiprocessor; mbarriers between them:
//
//              copy engine → raw[2]   → converters (1 warpgroup)   largest value, scale, split
//                            cells[2] → multipliers (2)            columns 0 … 15 and 16 … 31
//              copy engine ← staged   ← multipliers                two parts of each map's rows
//
//          The multipliers start their products in turns. So while one group multiplies, the other
//          one stores its sums, here rows 0 … 11, 12 … 23 and 24 … 33 of an image:
//
//              columns  0 … 15    0 … 11            12 … 23            32, 33    24 … 33
//              columns 16 … 31            0 … 11            12 … 23     24 … 33
//
//          For the next image they change roles. The group with columns 32 and 33 is done last, so
//          it starts the copies: first of rows 0 … 23 of each map, at the end of the others.
//
//          Even and odd columns lie apart. For 2 cells of the window (16 taps), one below the
//          other:
//
//              main (64, n)   += weights (64 = high | low of 16 maps × 2 rows, 16) · high (16, n)
//              third (64, n)  += weights (64 = high for an even | an odd column, 16) · low (16, n)
//
//          n are 8 even or 8 odd columns of 5 or 6 pairs of output rows. The odd column of `third`
//          sees the window one cell further, so a row of its window has 8 cells instead of 7.
//          A thread's rows of a product belong to one map and one row: it holds main, both
//          corrections, and four neighbouring outputs. The last two of 34 columns are a product of
//          their own, from cells in another order.
// Cost     2 · (14 · 2 + 16) · (24 + 24 + 20) + 14 · 24 + 16 · 12 = 6 512 cycles of the tensor
//          cores for an image. 224 registers for a thread of the multipliers, taken from the
//          converters (setmaxnreg).

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

/// 4 channels, 16 maps.
template <int Kernel, int Size>
struct SixteenMaps {
  static constexpr int kChannels = 4;  // two rows of them are a cell
  static constexpr int kMaps = 16;
  static constexpr int kKernel = Kernel;
  static constexpr int kSize = Size;
  static constexpr int kPlane = Size * Size;
  static constexpr int kOut = Size - Kernel + 1;
  static constexpr int kInputs = kChannels * kPlane;    // of one image
  static constexpr int kOutputs = kMaps * kOut * kOut;  // of one image
  static constexpr int kWeights = kMaps * kChannels * Kernel * Kernel;
  static constexpr int kRowPairs = Size / 2;
  static constexpr int kDeep = (Kernel + 1) / 4;  // steps of two cells, one below the other
  // Cells of the even columns; those of the odd ones are 4 further, in other banks.
  static constexpr int kEven = kRowPairs * (Size / 2) + 4;
  // The cells of the last 8 columns once more, column after column.
  static constexpr int kLast = 2 * kEven;
  // Rows of such a column: 24 are read, one more moves the next column to other banks.
  static constexpr int kLastRows = 25;
  static constexpr int kCells = kLast + 8 * kLastRows;

  static constexpr int kFirstPart = 24;  // rows; the others are the second part

  static bool fits(const ConvShape& s) {
    return s.in_channels == kChannels && s.out_channels == kMaps && s.kernel == Kernel &&
           s.stride == 1 && s.height == Size && s.width == Size;
  }
  static_assert(Kernel == 7, "an output row pair's window is 4 row pairs, the last one half empty");
  static_assert(kOut == 34, "17 row pairs are 6 + 6 + 5; two columns are left");
  static_assert(Size == kWarp + 8, "a warp converts 32 columns; the last 8 have a second place");
  static_assert(kInputs % 4 == 0 && kOutputs % 4 == 0);
};

/// 2 rows × 4 channels of a column.
struct Cell {
  HalfPair pairs[4];
};

constexpr int kWarpgroup = 4 * kWarp;
constexpr int kMultipliers = 2 * kWarpgroup;
constexpr int kConverters = kWarpgroup;
constexpr int kThreads = kMultipliers + kConverters;
constexpr int kSlots = 2;
constexpr int kParts = 2;                  // of an image's rows, stored one after the other
constexpr int kMultiplierRegisters = 224;  // of a thread; see setmaxnreg
constexpr int kConverterRegisters = 56;
static_assert(kMultiplierRegisters * kMultipliers + kConverterRegisters * kConverters <= 65536);

template <class Layer>
struct SixteenMapsShared {
  alignas(128) float staged[Layer::kOutputs];      // (map, row, column)
  alignas(128) float raw[kSlots][Layer::kInputs];  // (channel, row, column)
  alignas(128) Cell high[kSlots][Layer::kCells];   // (parity of the column, row pair, column / 2)
  alignas(128) Cell low[kSlots][Layer::kCells];
  float weights[Layer::kWeights];
  float converter_max[kConverters / kWarp];
  float weight_max[kThreads / kWarp];
  float down[kSlots];  // the inverse of the scale of an image
  Barrier loaded[kSlots];
  Barrier converted[kSlots];
  Barrier used[kSlots];
  Barrier computed[kParts];
  Barrier stored[kParts];
};

#if CONVLAB_WARPGROUP_MULTIPLY

/// All weights as the left factors of a thread: rows g and g + 8 of its warp's 16. Both belong to
/// map map_of(warp, g) and output row g % 2 of a pair.
template <class Layer>
struct SplitWeights {
  static constexpr int kWindow = Layer::kKernel;  // cells of a row of a window
  HalfPair main[Layer::kDeep][kWindow][4];        // high | low
  HalfPair third[Layer::kDeep][kWindow + 1][4];   // high for an even | an odd column

  __device__ static int map_of(int warp, int g) {
    return warp % 4 + g / 2 * 4;  // the 16 threads of a store use 32 different banks
  }

  __device__ SplitWeights(const float* weights, float up) {
    const int g = threadIdx.x % kWarp / 4;
    const int q = threadIdx.x % 4;
    const int channel = q % 2 * 2;
    const float* map = weights + map_of(threadIdx.x / kWarp, g) * Layer::kChannels * kPlaneTaps +
                       channel * kPlaneTaps;
#pragma unroll
    for (int deep = 0; deep < Layer::kDeep; ++deep) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int row = (2 * deep + i) * 2 + q / 2 - g % 2;  // of the kernel
        const bool inside = row >= 0 && row < Layer::kKernel;
        const float* taps = map + (inside ? row : 0) * Layer::kKernel;
#pragma unroll
        for (int x = 0; x < kWindow; ++x) {
          const float scale = inside ? up : 0.0f;
          const SplitPair pair = split(scale * taps[x], scale * taps[kPlaneTaps + x]);
          main[deep][x][2 * i] = third[deep][x][2 * i] = third[deep][x + 1][2 * i + 1] = pair.high;
          main[deep][x][2 * i + 1] = pair.low;
        }
        third[deep][kWindow][2 * i] = third[deep][0][2 * i + 1] = 0;
      }
    }
  }

 private:
  static constexpr int kPlaneTaps = Layer::kKernel * Layer::kKernel;
};

/// Writes the cell of row pair and column x: high and low halves of its scaled values.
template <class Layer>
__device__ void make_cell(Cell* high, Cell* low, const float* raw, float up, int row_pair, int x) {
  Cell high_cell;
  Cell low_cell;
#pragma unroll
  for (int j = 0; j < 4; ++j) {  // (row of the pair, pair of channels)
    const float* first =
        raw + j % 2 * 2 * Layer::kPlane + (2 * row_pair + j / 2) * Layer::kSize + x;
    const SplitPair pair = split(up * first[0], up * first[Layer::kPlane]);
    high_cell.pairs[j] = pair.high;
    low_cell.pairs[j] = pair.low;
  }
  const auto store = [&](int place) {
    *reinterpret_cast<uint4*>(high + place) = *reinterpret_cast<const uint4*>(&high_cell);
    *reinterpret_cast<uint4*>(low + place) = *reinterpret_cast<const uint4*>(&low_cell);
  };
  store(x % 2 * Layer::kEven + row_pair * (Layer::kSize / 2) + x / 2);
  if (x >= kWarp) store(Layer::kLast + (x - kWarp) * Layer::kLastRows + row_pair);
}

/// Writes the cells of an image. First a warp takes 32 columns of a row pair: they lie in different
/// banks. If it continued on the next row pair, it would use some banks twice.
template <class Layer>
__device__ void make_cells(Cell* high, Cell* low, const float* raw, float up, int converter) {
  constexpr int kLastColumns = Layer::kSize - kWarp;
#pragma unroll 1
  for (int y = converter / kWarp; y < Layer::kRowPairs; y += kConverters / kWarp) {
    make_cell<Layer>(high, low, raw, up, y, converter % kWarp);
  }
#pragma unroll 1
  for (int i = converter; i < Layer::kRowPairs * kLastColumns; i += kConverters) {
    make_cell<Layer>(high, low, raw, up, i / kLastColumns, kWarp + i % kLastColumns);
  }
}

/// The turns of the two groups of multipliers: barriers 2 and 3 of the block. Group 0 begins after
/// group 1 has passed the first turn to it.
struct Turns {
  int group;

  __device__ void begin() const {
    asm volatile("bar.sync %0, %1;" ::"r"(2 + group), "n"(kMultipliers) : "memory");
  }

  __device__ void pass() const {
    asm volatile("bar.arrive %0, %1;" ::"r"(3 - group), "n"(kMultipliers) : "memory");
  }
};

/// The products of one warpgroup for 16 columns or for the last two. They are started in one turn.
template <class Layer>
struct Products {
  static constexpr int kCell = sizeof(Cell);
  static constexpr int kRow = Layer::kSize / 2 * kCell;  // from a row pair to the next

  /// 16 columns from `first_pair` · 2 on, RowPairs row pairs: main for even and for odd columns,
  /// and third for both.
  template <int RowPairs>
  __device__ static void add(float (&main)[2][RowPairs * 4], float (&third)[RowPairs * 4],
                             const SplitWeights<Layer>& weights, const Cell* high, const Cell* low,
                             int first_pair, int first_row, const Turns& turns) {
    const int first = first_row * (Layer::kSize / 2) + first_pair;
    const std::uint64_t from_high = right_descriptor(high + first, kRow, kRow);
    const std::uint64_t from_low = right_descriptor(low + first, kRow, kRow);
    turns.begin();
    multiply_begin();
#pragma unroll
    for (int deep = 0; deep < Layer::kDeep; ++deep) {
      const int below = deep * 2 * (Layer::kSize / 2);
#pragma unroll
      for (int x = 0; x < Layer::kKernel + 1; ++x) {
        const int place = x % 2 * Layer::kEven + x / 2 + below;  // of column x
        const int keep = deep + x > 0;
        if (x < Layer::kKernel) {
          multiply_add<RowPairs * 8>(main[0], weights.main[deep][x], from_high + place, keep);
        }
        if (x > 0) {
          multiply_add<RowPairs * 8>(main[1], weights.main[deep][x - 1], from_high + place,
                                     deep + x > 1);
        }
        multiply_add<RowPairs * 8>(third, weights.third[deep][x], from_low + place, keep);
      }
    }
    multiply_commit();
    turns.pass();
    multiply_wait();
    finish(main[0]);
    finish(main[1]);
    finish(third);
  }

  /// The last two columns, all row pairs (17 of n = 24 exist): main for the even and for the odd
  /// one, and third for both.
  __device__ static void add_last(float (&main)[2][12], float (&third)[12],
                                  const SplitWeights<Layer>& weights, const Cell* high,
                                  const Cell* low, const Turns& turns) {
    const std::uint64_t from_high = right_descriptor(high + Layer::kLast, kCell, 8 * kCell);
    const std::uint64_t from_low = right_descriptor(low + Layer::kLast, kCell, 8 * kCell);
    turns.begin();
    multiply_begin();
#pragma unroll
    for (int deep = 0; deep < Layer::kDeep; ++deep) {
#pragma unroll
      for (int x = 0; x < Layer::kKernel + 1; ++x) {
        const int place = x * Layer::kLastRows + 2 * deep;
        if (x < Layer::kKernel) {
          const std::uint64_t high_place = from_high + place;
          multiply_add<24>(main[0], weights.main[deep][x], high_place, deep + x > 0);
          multiply_add<24>(main[1], weights.main[deep][x], high_place + Layer::kLastRows,
                           deep + x > 0);
        }
        multiply_add<24>(third, weights.third[deep][x], from_low + place, deep + x > 0);
      }
    }
    multiply_commit();
    turns.pass();
    multiply_wait();
    finish(main[0]);
    finish(main[1]);
    finish(third);
  }

 private:
  template <int Count>
  __device__ static void finish(float (&sums)[Count]) {
#pragma unroll
    for (float& sum : sums) keep_here(sum);
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
  constexpr int kOut = Layer::kOut;
  const int thread = threadIdx.x;
  const int lane = thread % kWarp;
  const int warp = thread / kWarp;

  const auto load = [&](int turn) {
    const int image = blockIdx.x + turn * gridDim.x;
    if (image >= batch) return;
    fence_shared_for_engines();
    shared.loaded[turn % kSlots].arrive_expecting(sizeof(float) * Layer::kInputs);
    bulk_load(shared.raw[turn % kSlots], input + std::int64_t{image} * Layer::kInputs,
              sizeof(float) * Layer::kInputs, shared.loaded[turn % kSlots]);
  };
  if (thread == 0) {
    for (int i = 0; i < kSlots; ++i) {
      shared.loaded[i].init(1);
      shared.converted[i].init(kConverters);
      shared.used[i].init(kMultipliers);
    }
    for (int i = 0; i < kParts; ++i) {
      shared.computed[i].init(kMultipliers);
      shared.stored[i].init(Layer::kMaps);
    }
    for (int i = 0; i < kSlots; ++i) load(i);
  }
  float weight_max = 0.0f;
  for (int i = thread; i < Layer::kWeights; i += kThreads) {
    shared.weights[i] = weights[i];
    weight_max = fmaxf(weight_max, fabsf(shared.weights[i]));
  }
  weight_max = warp_max(weight_max);
  if (lane == 0) shared.weight_max[warp] = weight_max;
  __syncthreads();
  for (int i = 0; i < kThreads / kWarp; ++i) weight_max = fmaxf(weight_max, shared.weight_max[i]);
  const Scale weight_scale = scale_for(weight_max);

  if (warp >= kMultipliers / kWarp) {
    give_registers<kConverterRegisters>();
    const int converter = thread - kMultipliers;
    int turn = 0;
    for (int image = blockIdx.x; image < batch; image += gridDim.x, ++turn) {
      const int slot = turn % kSlots;
      shared.loaded[slot].wait(turn / kSlots % 2);
      const float4* fours = reinterpret_cast<const float4*>(shared.raw[slot]);
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
      if (turn >= kSlots) shared.used[slot].wait((turn - kSlots) / kSlots % 2);
      make_cells<Layer>(shared.high[slot], shared.low[slot], shared.raw[slot], scale.up, converter);
      if (converter == 0) shared.down[slot] = scale.down;
      fence_shared_for_engines();
      shared.converted[slot].arrive();
      // All have read raw, and no thread writes converter_max again before this.
      asm volatile("bar.sync 1, %0;" ::"n"(kConverters) : "memory");
      if (converter == 0) load(turn + kSlots);
    }
  } else {
    take_registers<kMultiplierRegisters>();
    const int g = lane / 4;
    const int q = lane % 4;
    // A shuffle tells the compiler that a warp has one group, so descriptors are in uniform
    // registers.
    const int group = __shfl_sync(0xffffffffu, warp / 4, 0);
    const SplitWeights<Layer> factors(shared.weights, weight_scale.up);
    // Of this thread's map and row of a pair, in row pair 0.
    float* own = shared.staged + (factors.map_of(warp, g) * kOut + g % 2) * kOut;
    const auto store_two = [&](int row_pair, int column, float even, float odd, float down) {
      *reinterpret_cast<float2*>(own + row_pair * 2 * kOut + column) =
          make_float2(even * down * weight_scale.down, odd * down * weight_scale.down);
    };

    const Turns turns = {group};
    if (group == 1) turns.pass();
    const bool stores = lane < Layer::kMaps / 4;  // such a lane stores one map

    int turn = 0;
    for (int image = blockIdx.x; image < batch; image += gridDim.x, ++turn) {
      const int slot = turn % kSlots;
      const bool ends = turn % 2 == group;  // this group has the last two columns
      shared.converted[slot].wait(turn / kSlots % 2);
      const float down = shared.down[slot];
      const Cell* high = shared.high[slot];
      const Cell* low = shared.low[slot];
      const auto store_part = [&](int part) {
        fence_shared_for_engines();
        shared.computed[part].arrive();
        if (!ends) return;
        // All lanes wait. If only those that store did, the compiler would no longer know that a
        // warp's lanes run together, and move each descriptor from ordinary registers.
        shared.computed[part].wait(turn % 2);
        if (!stores) return;
        const int map = warp % 4 * (Layer::kMaps / 4) + lane;
        const int first = (map * kOut + part * Layer::kFirstPart) * kOut;
        const int rows = part == 0 ? Layer::kFirstPart : kOut - Layer::kFirstPart;
        bulk_store(output + std::int64_t{image} * Layer::kOutputs + first, shared.staged + first,
                   sizeof(float) * rows * kOut);
        bulk_commit();
      };
      const auto wait_for_room = [&](int part) {  // the image before is stored
        if (turn > 0) shared.stored[part].wait((turn - 1) % 2);
      };
      const auto convolve = [&](auto row_pairs, int first_row) {
        constexpr int kRowPairs = decltype(row_pairs)::value;
        float main[2][kRowPairs * 4];
        float third[kRowPairs * 4];
        Products<Layer>::template add<kRowPairs>(main, third, factors, high, low, group * 8,
                                                 first_row, turns);
        wait_for_room(2 * first_row / Layer::kFirstPart);
#pragma unroll
        for (int j = 0; j < kRowPairs; ++j) {
#pragma unroll
          for (int i = 4 * j; i < 4 * j + 2; ++i) {
            store_two(first_row + j, group * 16 + 4 * q + i % 2 * 2,
                      join(main[0][i], main[0][i + 2] + third[i]),
                      join(main[1][i], main[1][i + 2] + third[i + 2]), down);
          }
        }
      };
      const bool stored_before = turn > 0 && !ends;
      if (stored_before) {
        bulk_wait_read<1>();
        if (stores) shared.stored[0].arrive();
      }
      convolve(std::integral_constant<int, 6>{}, 0);
      if (stored_before) {
        bulk_wait_read<0>();
        if (stores) shared.stored[1].arrive();
      }
      convolve(std::integral_constant<int, 6>{}, 6);
      if (ends) {
        float main[2][12];
        float third[12];
        Products<Layer>::add_last(main, third, factors, high, low, turns);
        wait_for_room(1);
#pragma unroll
        for (int j = 0; j < 3; ++j) {
#pragma unroll
          for (int i = 4 * j; i < 4 * j + 2; ++i) {
            const int row_pair = j * 8 + 2 * q + i % 2;
            if (row_pair >= kOut / 2) continue;
            store_two(row_pair, kOut - 2, join(main[0][i], main[0][i + 2] + third[i]),
                      join(main[1][i], main[1][i + 2] + third[i + 2]), down);
          }
        }
      }
      store_part(0);
      convolve(std::integral_constant<int, 5>{}, 12);
      shared.used[slot].arrive();
      store_part(1);
    }
    if ((turn + group) % 2 == 0) turns.begin();  // the turn that no products follow
    bulk_wait_read<0>();
  }
#else
  (void)output, (void)input, (void)weights, (void)batch;
#endif  // CONVLAB_WARPGROUP_MULTIPLY
}

}  // namespace convlab::split_by_warpgroups
