// Vectors of output maps.
//
// Idea     The other axis: one pixel times the weights of 16 output maps also adds to 16 sums. Load
//          a vector of weights and spread a pixel over its lanes. Then rows of any length waste no
//          lane, and 16 maps fill the vector exactly. In return the weights of the maps must lie
//          side by side, and the finished sums lie so, too: blocks of 16 pixels × 16 maps are
//          transposed in registers before they are stored.
// Picture  weights [m][k] → [k][m]        sums [pixel][m] → output [m][pixel]
//
//              one tap:   pixels   x0   x1   x2  …  x16      17 pixels of a row of 34
//              w[m0…m15]            +    +    +  …   +       17 multiply-adds for 1 + 17 loads
//
//          Loads and multiply-adds are then equally many, and both units start two in a cycle. So
//          a kernel row is taken at once, where maps fill one vector: 7 vectors of weights stay in
//          registers, and a pixel that was loaded is multiplied by all of them, 119 multiply-adds
//          for 7 + 23 loads.
//
// Cost     lanes without a map: none of 16, 32 or 64 maps, but 12 of 16 with the 4 maps of the
//          first layer. Transposing 16 × 16 sums takes 64 shuffles; one tile has 17 · 196
//          multiply-adds.
// Expect   faster than vectors of pixels where maps fill the lanes and pixels do not: a fifth with
//          the 34 columns of the second layer, twice with the 8 of network fa16. Three times slower
//          in the first layer, whose 4 maps leave 12 lanes idle.
// Run      build/bin/m1 1000 --solution reference --stage map-lanes

#include "reference/solutions/m1_cpu_baseline/map_lanes.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/stage/cpu_stage.hpp"
#include "common/tensor/buffer.hpp"
#include "reference/solutions/m1_cpu_baseline/phase_planes.hpp"
#include "reference/solutions/m1_cpu_baseline/vec.hpp"

namespace convlab {
namespace {

// The input of a band in the first-level cache, and the sums of a strip of it beside them.
constexpr std::int64_t kBandFloats = 8 << 10;
constexpr int kStripFloats = 2 << 10;

// Vectors of maps in one tile; pixels beside them, so that sums, weights and one pixel fill the
// registers.
constexpr int kMaxVecs = 2;
constexpr int max_pixels(int vecs) {
  return (kRegisters - vecs - 2) / vecs;
}

/// Sums kPixels pixels × kVecs · kLanes maps over all taps.
/// @param pixels   the first pixel; tap k finds its pixels at pixels + offsets[k]
/// @param weights  taps × kVecs · kLanes
/// @param sums     kPixels × kVecs · kLanes
template <int kVecs, int kPixels>
void multiply_tile(int taps, const float* pixels, const std::ptrdiff_t* offsets,
                   const float* weights, float* sums) {
  constexpr std::ptrdiff_t kWidth = std::ptrdiff_t{kVecs} * kLanes;
  Vec sum[kPixels][kVecs] = {};
  for (int k = 0; k < taps; ++k) {
    const float* const row = pixels + offsets[k];
    Vec weight[kVecs];
    CONVLAB_UNROLL
    for (std::ptrdiff_t v = 0; v < kVecs; ++v) {
      weight[v] = load(weights + v * kLanes);
      keep_in_register(weight[v]);
    }
    CONVLAB_UNROLL
    for (std::ptrdiff_t i = 0; i < kPixels; ++i) {
      const Vec pixel = broadcast(row[i]);
      CONVLAB_UNROLL
      for (std::ptrdiff_t v = 0; v < kVecs; ++v) sum[i][v] += pixel * weight[v];
    }
    weights += kWidth;
  }
  CONVLAB_UNROLL
  for (std::ptrdiff_t i = 0; i < kPixels; ++i) {
    CONVLAB_UNROLL
    for (std::ptrdiff_t v = 0; v < kVecs; ++v) store(sums + i * kWidth + v * kLanes, sum[i][v]);
  }
}

/// The same for kernels of kKernel columns and stride 1, where neighbouring pixels share what they
/// read: a pixel that was spread over the lanes is multiplied by the weights of all columns.
template <int kKernel, int kPixels>
void multiply_rows(int taps, const float* pixels, const std::ptrdiff_t* offsets,
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

using MultiplyTile = void (*)(int taps, const float* pixels, const std::ptrdiff_t* offsets,
                              const float* weights, float* sums);

template <int kVecs>
MultiplyTile multiply_tile_for(int pixels) {
  constexpr auto kTable = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array<MultiplyTile, sizeof...(kIndex)>{
        multiply_tile<kVecs, static_cast<int>(kIndex) + 1>...};
  }
  (std::make_index_sequence<max_pixels(kVecs)>());
  return kTable[static_cast<std::size_t>(pixels - 1)];
}

// multiply_rows needs a register for each column's weights, too.
constexpr int max_pixels_of_rows(int kernel) {
  return kRegisters - kernel - 1;
}

template <int kKernel>
MultiplyTile multiply_rows_for(int pixels) {
  constexpr auto kTable = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array<MultiplyTile, sizeof...(kIndex)>{
        multiply_rows<kKernel, static_cast<int>(kIndex) + 1>...};
  }
  (std::make_index_sequence<max_pixels_of_rows(kKernel)>());
  return kTable[static_cast<std::size_t>(pixels - 1)];
}

// How a shape is cut into tiles.
struct Tiling {
  int vecs;    // of maps
  int pixels;  // of a row; the last tile of a row ends with the row and overlaps the one before
  int tiles_per_row;
  int groups;  // of vecs · kLanes maps; the lanes behind the last map multiply zeros
  MultiplyTile multiply;

  explicit Tiling(const ConvShape& shape)
      : vecs(shape.out_channels > kLanes ? kMaxVecs : 1),
        groups((shape.out_channels + group_maps() - 1) / group_maps()) {
    const bool by_rows = map_lanes_go_by_rows(shape);
    const int most = by_rows ? max_pixels_of_rows(shape.kernel) : max_pixels(vecs);
    tiles_per_row = (shape.out_width() + most - 1) / most;
    pixels = (shape.out_width() + tiles_per_row - 1) / tiles_per_row;
    multiply = by_rows
                   ? shape.kernel == 5 ? multiply_rows_for<5>(pixels) : multiply_rows_for<7>(pixels)
               : vecs == 1 ? multiply_tile_for<1>(pixels)
                           : multiply_tile_for<kMaxVecs>(pixels);
  }

  [[nodiscard]] int group_maps() const { return vecs * kLanes; }
};

// [m][k] → [group][k][map in the group], zeros where there is no map.
std::vector<float> maps_side_by_side(const ConvShape& shape, const Tiling& tiling,
                                     const float* weights) {
  const std::size_t taps = static_cast<std::size_t>(shape.taps());
  const std::size_t width = static_cast<std::size_t>(tiling.group_maps());
  std::vector<float> result(static_cast<std::size_t>(tiling.groups) * taps * width, 0.0f);
  for (std::size_t m = 0; m < static_cast<std::size_t>(shape.out_channels); ++m) {
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

// kLanes × kLanes: after interleaving row i with row i + kLanes / 2, log2(kLanes) times, rows have
// become columns.
void transpose(Vec (&rows)[kLanes]) {
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
/// @param maps    of the pitch that exist
/// @param output  maps rows, map_size floats apart
void store_transposed(const float* sums, int count, int pitch, int maps, float* output,
                      std::ptrdiff_t map_size) {
  std::ptrdiff_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
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
  for (; i < count; ++i) {
    for (int m = 0; m < maps; ++m) output[m * map_size + i] = sums[i * pitch + m];
  }
}

const CpuStage stage(
    {.id = "map-lanes", .title = "Vectors of output maps", .baseline = "vectorized", .order = 4},
    convolve_map_lanes);

}  // namespace

bool map_lanes_go_by_rows(const ConvShape& shape) {
  return kRegisters == 32 && shape.out_channels <= kLanes && shape.stride == 1 &&
         (shape.kernel == 5 || shape.kernel == 7);
}

void convolve_map_lanes(const ConvShape& shape, const float* input, const float* weights,
                        float* output) {
  const int threads = omp_get_max_threads();
  const int band_rows = PhasePlanes::band_rows(shape, kBandFloats, threads);
  const int bands = (shape.out_height() + band_rows - 1) / band_rows;
  const PhasePlanes planes(shape, band_rows);
  const Tiling tiling(shape);
  const std::vector<float> packed = maps_side_by_side(shape, tiling, weights);
  const int group_maps = tiling.group_maps();
  const int out_width = shape.out_width();
  const std::ptrdiff_t map_size = std::ptrdiff_t{shape.out_height()} * out_width;
  const int strip_rows = std::clamp(kStripFloats / group_maps / out_width, 1, band_rows);

  const std::ptrdiff_t sums_size = std::ptrdiff_t{strip_rows} * out_width * group_maps;
  const std::ptrdiff_t thread_size = (planes.size() + kLanes - 1) / kLanes * kLanes + sums_size;
  Buffer memory(threads * thread_size);

#pragma omp parallel num_threads(threads)
  {
    float* const sums = memory.data() + omp_get_thread_num() * thread_size;
    float* const band = sums + sums_size;
#pragma omp for schedule(dynamic)
    for (std::int64_t item = 0; item < std::int64_t{shape.batch} * bands; ++item) {
      const std::int64_t image = item / bands;
      const int first_row = static_cast<int>(item % bands) * band_rows;
      const int end_row = std::min(first_row + band_rows, shape.out_height());
      planes.pack(input + image * shape.input_image_size(), first_row, band);
      for (int group = 0; group < tiling.groups; ++group) {
        const int first_map = group * group_maps;
        const float* const group_weights = packed.data() + std::ptrdiff_t{first_map} * shape.taps();
        for (int strip = first_row; strip < end_row; strip += strip_rows) {
          const int rows = std::min(strip_rows, end_row - strip);
          for (int h = 0; h < rows; ++h) {
            const float* const row = band + std::ptrdiff_t{strip - first_row + h} * planes.pitch();
            for (int t = 0; t < tiling.tiles_per_row; ++t) {
              const int w = std::min(t * tiling.pixels, out_width - tiling.pixels);
              tiling.multiply(shape.taps(), row + w, planes.offsets(), group_weights,
                              sums + (std::ptrdiff_t{h} * out_width + w) * group_maps);
            }
          }
          store_transposed(sums, rows * out_width, group_maps,
                           std::min(group_maps, shape.out_channels - first_map),
                           output + image * shape.output_image_size() + first_map * map_size +
                               std::ptrdiff_t{strip} * out_width,
                           map_size);
        }
      }
    }
  }
}

}  // namespace convlab
