// Vectors of output maps.
//
// Idea     The lanes of a vector are 16 output maps: one pixel times the weights of 16 maps adds to
//          16 sums. Load a vector of weights and copy the pixel into every lane. Then rows of any
//          length waste no lane, and 16 maps fill the vector exactly. The weights of the maps must
//          lie side by side. So do the finished sums: blocks of 16 pixels × 16 maps are transposed
//          in registers before they are stored.
// Picture  weights [m][k] → [k][m]        sums [pixel][m] → output [m][pixel]
//
//              one tap:   pixels   x0   x1   x2  …  x16      17 pixels of a row of 34
//              w[m0…m15]            +    +    +  …   +       17 multiply-adds for 1 + 17 loads
//
//          This takes as many loads as multiply-adds, and a processor starts two of each in a
//          cycle. So a tile processes a whole kernel row: 7 vectors of weights stay in registers,
//          and each pixel is multiplied by all of them, 119 multiply-adds for 7 + 23 loads. For
//          kernels other than 5 and 7 a tile has two vectors of maps instead.
//
// Cost     lanes without a map: none with 16, 32 or 64 maps, but 12 of 16 with the 4 maps of the
//          first layer. Transposing 16 × 16 sums takes 64 shuffles; one tile has 17 · 196
//          multiply-adds.
// Expect   faster than vectors of pixels where maps fill the lanes and pixels do not: by a fifth
//          with the 34 columns of the second layer, twice as fast with the 8 columns of network
//          fa16. Three times slower in the first layer, whose 4 maps leave 12 lanes idle.
// Run      build/bin/m1 1000 --solution reference --stage map-lanes

#include "reference/solutions/m1_cpu_baseline/map_lanes.hpp"

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/buffer.hpp"
#include "common/stage/cpu_stage.hpp"
#include "reference/solutions/m1_cpu_baseline/map_tile.hpp"
#include "reference/solutions/m1_cpu_baseline/phase_planes.hpp"
#include "reference/solutions/m1_cpu_baseline/prefetch.hpp"
#include "reference/solutions/m1_cpu_baseline/vec.hpp"

namespace convlab {
namespace {

// The input of a band and the sums of a strip: both fit in the first-level cache.
constexpr std::int64_t kBandFloats = 8 << 10;
constexpr int kStripFloats = 2 << 10;

const CpuStage stage(
    {.id = "map-lanes", .title = "Vectors of output maps", .baseline = "vectorized", .order = 4},
    convolve_map_lanes);

}  // namespace

bool map_lanes_go_by_rows(const ConvShape& shape) {
  return kRegisters == 32 && shape.stride == 1 && (shape.kernel == 5 || shape.kernel == 7);
}

void convolve_map_lanes(const ConvShape& shape, const float* input, const float* weights,
                        float* output) {
  const int threads = omp_get_max_threads();
  const int band_rows = PhasePlanes::band_rows(shape, kBandFloats, threads);
  const int bands = (shape.out_height() + band_rows - 1) / band_rows;
  const PhasePlanes planes(shape, band_rows);
  const MapTiling tiling(shape);
  const std::vector<float> packed =
      maps_side_by_side(tiling, static_cast<std::size_t>(shape.out_channels),
                        static_cast<std::size_t>(shape.taps()), weights);
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
      const float* pixels = input + image * shape.input_image_size();
      if (!planes.equal_image()) {
        planes.pack(pixels, first_row, band);
        pixels = band;
      }
      NextInput next_input(shape, input, item + threads, bands,
                           (end_row - first_row) * tiling.tiles_per_row);
      for (int group = 0; group < tiling.groups; ++group) {
        const int first_map = group * group_maps;
        const int maps = std::min(group_maps, shape.out_channels - first_map);
        const float* const group_weights = packed.data() + std::ptrdiff_t{first_map} * shape.taps();
        for (int strip = first_row; strip < end_row; strip += strip_rows) {
          const int rows = std::min(strip_rows, end_row - strip);
          float* const to = output + image * shape.output_image_size() + first_map * map_size +
                            std::ptrdiff_t{strip} * out_width;
          for (int h = 0; h < rows; ++h) {
            const float* const row =
                pixels + std::ptrdiff_t{strip - first_row + h} * planes.pitch();
            NextOutput next_output(to + std::ptrdiff_t{h} * out_width, out_width, maps, map_size,
                                   tiling.tiles_per_row);
            for (int t = 0; t < tiling.tiles_per_row; ++t) {
              const int w = std::min(t * tiling.pixels, out_width - tiling.pixels);
              next_output.advance();
              next_input.advance();
              tiling.multiply(shape.taps(), row + w, planes.offsets(), group_weights,
                              sums + (std::ptrdiff_t{h} * out_width + w) * group_maps);
            }
          }
          store_transposed(sums, rows * out_width, group_maps, maps, to, map_size);
        }
      }
    }
  }
}

}  // namespace convlab
