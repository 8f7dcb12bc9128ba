#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "reference/solutions/m1_cpu_baseline/vec.hpp"

namespace convlab {

// A register tile: `maps` output maps × `tile_vecs(maps)` vectors of pixels, whose sums all stay in
// registers from the first product to the last. Per tap it reads one vector of pixels for each
// column and one weight for each row, and multiplies every row with every column:
//
//                 x[0]  x[1]  x[2]  x[3]  x[4]      5 vectors of pixels
//          w[0]    +     +     +     +     +
//          w[1]    +     +     +     +     +        4 · 5 multiply-adds
//          w[2]    +     +     +     +     +        for 4 + 5 loads
//          w[3]    +     +     +     +     +

/// The most output maps in one tile.
inline constexpr int kMaxMaps = kRegisters == 32 ? 6 : 4;

/// Vectors of pixels for so many maps: sums, pixels and one weight fill the registers.
constexpr int tile_vecs(int maps) {
  constexpr std::array<int, 7> k32Registers = {0, 8, 8, 8, 5, 4, 4};
  constexpr std::array<int, 5> k16Registers = {0, 6, 5, 3, 3};
  constexpr std::array<int, 5> kFewer = {0, 6, 5, 3, 2};
  const auto i = static_cast<std::size_t>(maps);
  return kRegisters == 32 ? k32Registers[i] : kRegisters == 16 ? k16Registers[i] : kFewer[i];
}

/// Floats in the longest row of any tile: how far a tile may read past the last pixel.
inline constexpr int kMaxTileWidth = 8 * kLanes;

/// Sums one tile over all taps.
/// @param pixels   the tile's first pixel; tap k finds its pixels at pixels + offsets[k]
/// @param weights  taps × kMaps
/// @param output   kMaps rows, `output_pitch` floats apart, of tile_vecs(kMaps) · kLanes pixels
template <int kMaps>
void multiply_tile(int taps, const float* pixels, const std::ptrdiff_t* offsets,
                   const float* weights, float* output, std::ptrdiff_t output_pitch) {
  SumTile<kMaps, tile_vecs(kMaps)> tile;
  for (int k = 0; k < taps; ++k, weights += kMaps) tile.add(weights, pixels + offsets[k]);
  tile.store_to(output, output_pitch);
}

using MultiplyTile = void (*)(int taps, const float* pixels, const std::ptrdiff_t* offsets,
                              const float* weights, float* output, std::ptrdiff_t output_pitch);

/// multiply_tile<maps>, for 1 to kMaxMaps.
inline MultiplyTile multiply_tile_for(int maps) {
  constexpr auto kTable =
      table_of_sizes<kMaxMaps>([](auto size) -> MultiplyTile { return multiply_tile<size()>; });
  return kTable[static_cast<std::size_t>(maps - 1)];
}

/// Output maps that one tile computes together.
struct MapGroup {
  int first = 0;
  int maps = 0;
  std::vector<float> weights;  // taps × maps, in the order in which a tile reads them

  [[nodiscard]] int tile_width() const { return tile_vecs(maps) * kLanes; }
};

/// Splits the output maps into groups of nearly the same size, kMaxMaps at most.
/// @param weights  out_channels × in_channels × kernel × kernel
inline std::vector<MapGroup> group_maps(const ConvShape& shape, const float* weights) {
  const int count = (shape.out_channels + kMaxMaps - 1) / kMaxMaps;
  const std::size_t taps = static_cast<std::size_t>(shape.taps());
  std::vector<MapGroup> groups;
  int first = 0;
  for (int g = 0; g < count; ++g) {
    const int maps = shape.out_channels / count + (g < shape.out_channels % count ? 1 : 0);
    MapGroup group{.first = first, .maps = maps, .weights = {}};
    group.weights.reserve(taps * static_cast<std::size_t>(maps));
    for (std::size_t k = 0; k < taps; ++k) {
      for (int m = first; m < first + maps; ++m) {
        group.weights.push_back(weights[static_cast<std::size_t>(m) * taps + k]);
      }
    }
    groups.push_back(std::move(group));
    first += maps;
  }
  return groups;
}

}  // namespace convlab
