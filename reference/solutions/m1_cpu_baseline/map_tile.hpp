#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "reference/solutions/m1_cpu_baseline/map_lanes.hpp"
#include "reference/solutions/m1_cpu_baseline/vec.hpp"

namespace convlab {

// Tiles of pixels × output maps, the maps in the lanes of a vector; map_lanes.cpp has the picture.

// The most vectors of maps in one tile, and the most pixels with them: sums, weights and one pixel
// fill the registers.
inline constexpr int kMaxVecs = 2;
constexpr int max_pixels(int vecs) {
  return (kRegisters - vecs - 2) / vecs;
}

/// Sums kPixels pixels × kVecs · kLanes maps over all taps.
/// @param pixels   the first pixel; tap k finds its pixels at pixels + offsets[k]
/// @param weights  taps × kVecs · kLanes
/// @param sums     kPixels × kVecs · kLanes
template <int kVecs, int kPixels>
void multiply_map_tile(int taps, const float* pixels, const std::ptrdiff_t* offsets,
                       const float* weights, float* sums) {
  constexpr std::ptrdiff_t kWidth = std::ptrdiff_t{kVecs} * kLanes;
  SumTile<kPixels, kVecs> tile;
  for (int k = 0; k < taps; ++k, weights += kWidth) tile.add(pixels + offsets[k], weights);
  tile.store_to(sums, kWidth);
}

/// The same for kernels of kKernel columns and stride 1, where neighbouring outputs read the same
/// pixels: each pixel is broadcast once and multiplied by the weights of all columns.
template <int kKernel, int kPixels>
void multiply_map_rows(int taps, const float* pixels, const std::ptrdiff_t* offsets,
                       const float* weights, float* sums) {
  Vec sum[kPixels] = {};
  for (int k = 0; k < taps; k += kKernel) {
    const float* const row = pixels + offsets[k];
    Vec weight[kKernel];
    CONVLAB_UNROLL
    for (std::ptrdiff_t q = 0; q < kKernel; ++q) {
      weight[q] = load(weights + q * kLanes);
      keep_in_register(weight[q]);
    }
    CONVLAB_UNROLL
    for (std::ptrdiff_t x = 0; x < kPixels + kKernel - 1; ++x) {
      Vec pixel = broadcast(row[x]);
      keep_in_register(pixel);
      CONVLAB_UNROLL
      for (std::ptrdiff_t q = 0; q < kKernel; ++q) {
        if (x - q >= 0 && x - q < kPixels) sum[x - q] += pixel * weight[q];
      }
    }
    weights += kKernel * kLanes;
  }
  CONVLAB_UNROLL
  for (std::ptrdiff_t i = 0; i < kPixels; ++i) store(sums + i * kLanes, sum[i]);
}

using MultiplyMapTile = void (*)(int taps, const float* pixels, const std::ptrdiff_t* offsets,
                                 const float* weights, float* sums);

template <int kVecs>
MultiplyMapTile multiply_map_tile_for(int pixels) {
  constexpr auto kTable = table_of_sizes<max_pixels(kVecs)>(
      [](auto size) -> MultiplyMapTile { return multiply_map_tile<kVecs, size()>; });
  return kTable[static_cast<std::size_t>(pixels - 1)];
}

// multiply_map_rows needs a register for each column's weights, too.
constexpr int max_pixels_of_rows(int kernel) {
  return kRegisters - kernel - 1;
}

template <int kKernel>
MultiplyMapTile multiply_map_rows_for(int pixels) {
  constexpr auto kTable = table_of_sizes<max_pixels_of_rows(kKernel)>(
      [](auto size) -> MultiplyMapTile { return multiply_map_rows<kKernel, size()>; });
  return kTable[static_cast<std::size_t>(pixels - 1)];
}

/// How the output maps and the pixels of a row are cut into tiles.
struct MapTiling {
  int vecs;    // of maps
  int pixels;  // of a row; the last tile of a row ends with the row and overlaps the one before
  int tiles_per_row;
  int groups;  // of vecs · kLanes maps; the lanes beyond the last map multiply zeros
  MultiplyMapTile multiply;

  explicit MapTiling(const ConvShape& shape)
      : vecs(shape.out_channels > kLanes && !map_lanes_go_by_rows(shape) ? kMaxVecs : 1),
        groups((shape.out_channels + group_maps() - 1) / group_maps()) {
    const bool by_rows = map_lanes_go_by_rows(shape);
    const int most = by_rows ? max_pixels_of_rows(shape.kernel) : max_pixels(vecs);
    tiles_per_row = (shape.out_width() + most - 1) / most;
    pixels = (shape.out_width() + tiles_per_row - 1) / tiles_per_row;
    multiply = by_rows     ? shape.kernel == 5 ? multiply_map_rows_for<5>(pixels)
                                               : multiply_map_rows_for<7>(pixels)
                   : vecs == 1 ? multiply_map_tile_for<1>(pixels)
                           : multiply_map_tile_for<kMaxVecs>(pixels);
  }

  [[nodiscard]] int group_maps() const { return vecs * kLanes; }
};

/// [m][k] → [group][k][map in the group], zeros where there is no map.
inline std::vector<float> maps_side_by_side(const MapTiling& tiling, std::size_t maps,
                                            std::size_t taps, const float* weights) {
  const std::size_t width = static_cast<std::size_t>(tiling.group_maps());
  std::vector<float> result(static_cast<std::size_t>(tiling.groups) * taps * width, 0.0f);
  for (std::size_t m = 0; m < maps; ++m) {
    for (std::size_t k = 0; k < taps; ++k) {
      result[(m / width * taps + k) * width + m % width] = weights[m * taps + k];
    }
  }
  return result;
}

// One step of a transposition: (a, b) → a0 b0 a1 b1 … of their first or second halves.
template <int kFirst, int... kLane>
Vec interleave(const Vec& a, const Vec& b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a, b, (kFirst + kLane / 2 + kLane % 2 * kLanes)...);
}

// kLanes × kLanes: interleave row i with row i + kLanes / 2, log2(kLanes) times; then rows have
// become columns.
inline void transpose(Vec (&rows)[kLanes]) {
  constexpr std::make_integer_sequence<int, kLanes> kAllLanes;
  CONVLAB_UNROLL
  for (int step = 1; step < kLanes; step *= 2) {
    Vec next[kLanes];
    CONVLAB_UNROLL
    for (std::ptrdiff_t i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = interleave<0>(rows[i], rows[i + kLanes / 2], kAllLanes);
      next[2 * i + 1] = interleave<kLanes / 2>(rows[i], rows[i + kLanes / 2], kAllLanes);
    }
    CONVLAB_UNROLL
    for (int i = 0; i < kLanes; ++i) rows[i] = next[i];
  }
}

/// Transposes sums, count × pitch, into rows of output maps.
/// @param maps    the first maps of the pitch, which exist
/// @param output  maps rows, map_size floats apart
inline void store_transposed(const float* sums, int count, int pitch, int maps, float* output,
                             std::ptrdiff_t map_size) {
  if (count < kLanes) {
    for (int i = 0; i < count; ++i) {
      for (int m = 0; m < maps; ++m) output[m * map_size + i] = sums[i * pitch + m];
    }
    return;
  }
  for (int done = 0; done < count; done += kLanes) {
    // The last square overlaps the one before it.
    const std::ptrdiff_t i = std::min(done, count - kLanes);
    for (int m = 0; m < maps; m += kLanes) {
      Vec square[kLanes];
      CONVLAB_UNROLL
      for (std::ptrdiff_t r = 0; r < kLanes; ++r) square[r] = load(sums + (i + r) * pitch + m);
      transpose(square);
      const int rows = std::min(kLanes, maps - m);
      CONVLAB_UNROLL
      for (std::ptrdiff_t r = 0; r < kLanes; ++r) {
        if (r < rows) store(output + (m + r) * map_size + i, square[r]);
      }
    }
  }
}

}  // namespace convlab
