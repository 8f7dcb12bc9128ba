// Vectors of pixels, tiles in registers, bands in the cache.
//
// Idea     A vector unit adds 16 products at once, if they belong to 16 sums. Neighbouring pixels
//          of an output row are such sums: the same weight times neighbouring pixels of the input.
//          One vector per weight would spend more time on loads than on sums, so a tile of several
//          output maps × several vectors stays in registers over all taps (register_tile.hpp): each
//          loaded pixel serves all maps of the tile, and each weight all its vectors.
// Picture  out_width 34, kernel 7: rows are 40 pixels apart in the input. A tile takes pixels in
//          one line, across the ends of rows; the sums right of column 34 are garbage and never
//          copied.
//
//              0        16        32  |   40                       80
//              |==== row 0 ===========|xxx|==== row 1 =========|xxx|== row 2 …
//              |------------------- tile of 4 maps × 5 vectors ---|--------- next tile …
//
// Cost     lanes that hold garbage: (kernel - 1) / width of all, 7 to 15 % in the default network.
//          A row whose width is a multiple of the tile is computed alone and has none. A copy of
//          the input in bands that fit the first-level cache, which removes the stride
//          (phase_planes.hpp). There is no copy if it would equal the image and no tile reads past
//          it.
// Expect   most of the processor's peak. Per tap a tile of 4 × 5 does 20 multiply-adds, 10 cycles;
//          its 9 loads, 5 of them across a border of cache lines, take 7: arithmetic is the limit.
// Run      build/bin/m1 1000 --solution reference --stage vectorized

#include "reference/solutions/m1_cpu_baseline/vectorized.hpp"

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/buffer.hpp"
#include "common/stage/cpu_stage.hpp"
#include "reference/solutions/m1_cpu_baseline/phase_planes.hpp"
#include "reference/solutions/m1_cpu_baseline/prefetch.hpp"
#include "reference/solutions/m1_cpu_baseline/register_tile.hpp"
#include "reference/solutions/m1_cpu_baseline/vec.hpp"

namespace convlab {
namespace {

// The input of a band: most of a first-level cache of 32 or 48 kB.
constexpr std::int64_t kBandFloats = 8 << 10;

// The sums of a band, with the garbage between its rows.
struct Scratch {
  float* sums;
  std::ptrdiff_t map_pitch;
};

bool rows_fill_tiles(const ConvShape& shape, const MapGroup& group) {
  return shape.out_width() % group.tile_width() == 0;
}

// Computes each row alone, directly into the output.
void convolve_rows(const ConvShape& shape, const PhasePlanes& planes, const float* pixels,
                   const MapGroup& group, int rows, NextInput& next_input, float* output) {
  const MultiplyTile multiply = multiply_tile_for(group.maps);
  const std::ptrdiff_t map_size = std::ptrdiff_t{shape.out_height()} * shape.out_width();
  for (int h = 0; h < rows; ++h) {
    for (int w = 0; w < shape.out_width(); w += group.tile_width()) {
      next_input.advance();
      multiply(shape.taps(), pixels + std::ptrdiff_t{h} * planes.pitch() + w, planes.offsets(),
               group.weights.data(), output + std::ptrdiff_t{h} * shape.out_width() + w, map_size);
    }
  }
}

// Computes all rows as one line of pixels into `scratch`, and copies the rows to the output.
void convolve_line(const ConvShape& shape, const PhasePlanes& planes, const float* pixels,
                   const MapGroup& group, int rows, Scratch scratch, NextInput& next_input,
                   float* output) {
  const MultiplyTile multiply = multiply_tile_for(group.maps);
  const std::ptrdiff_t pitch = planes.pitch();
  const std::ptrdiff_t length = (rows - 1) * pitch + shape.out_width();
  const std::ptrdiff_t map_size = std::ptrdiff_t{shape.out_height()} * shape.out_width();
  int copied = 0;
  // Copies the rows that end before pixel `end`.
  const auto copy_rows_before = [&](std::ptrdiff_t end) {
    for (; copied < rows && copied * pitch + shape.out_width() <= end; ++copied) {
      for (int m = 0; m < group.maps; ++m) {
        copy_row(scratch.sums + m * scratch.map_pitch + copied * pitch,
                 output + m * map_size + std::ptrdiff_t{copied} * shape.out_width(),
                 shape.out_width());
      }
    }
  };
  for (std::ptrdiff_t i = 0; i < length; i += group.tile_width()) {
    next_input.advance();
    multiply(shape.taps(), pixels + i, planes.offsets(), group.weights.data(), scratch.sums + i,
             scratch.map_pitch);
    // One tile late, because a load that overlaps two unfinished stores waits for both. Not all at
    // the end: a few stores complete during the sums of the next tile, many would delay it.
    copy_rows_before(i);
  }
  copy_rows_before(length);
}

const CpuStage stage({.id = "vectorized",
                      .title = "Vectors of pixels, tiles in registers",
                      .baseline = "im2col-gemm",
                      .order = 3},
                     convolve_pixel_lanes);

}  // namespace

void convolve_pixel_lanes(const ConvShape& shape, const float* input, const float* weights,
                          float* output) {
  const int threads = omp_get_max_threads();
  const int band_rows = PhasePlanes::band_rows(shape, kBandFloats, threads);
  const int bands = (shape.out_height() + band_rows - 1) / band_rows;
  const PhasePlanes planes(shape, band_rows);
  const std::vector<MapGroup> groups = group_maps(shape, weights);

  // A row that is computed alone never reads past the last pixel.
  const bool in_place =
      planes.equal_image() && std::all_of(groups.begin(), groups.end(), [&](const MapGroup& group) {
        return rows_fill_tiles(shape, group);
      });

  // Tiles read and write past the last pixel of a band, by less than their width.
  const std::ptrdiff_t planes_size = planes.size() + kMaxTileWidth;
  const std::ptrdiff_t map_pitch = std::ptrdiff_t{band_rows} * planes.pitch() + kMaxTileWidth;
  const std::ptrdiff_t thread_size =
      (planes_size + kMaxMaps * map_pitch + kLanes - 1) / kLanes * kLanes;
  Buffer memory(threads * thread_size);

#pragma omp parallel num_threads(threads)
  {
    float* const band = memory.data() + omp_get_thread_num() * thread_size;
    const Scratch scratch{band + planes_size, map_pitch};
#pragma omp for schedule(dynamic)
    for (std::int64_t item = 0; item < std::int64_t{shape.batch} * bands; ++item) {
      const std::int64_t image = item / bands;
      const int first_row = static_cast<int>(item % bands) * band_rows;
      const int rows = std::min(band_rows, shape.out_height() - first_row);
      const float* pixels = input + image * shape.input_image_size();
      if (!in_place) {
        planes.pack(pixels, first_row, band);
        pixels = band;
      }
      NextInput next_input(shape, input, item + threads, bands, rows);
      for (const MapGroup& group : groups) {
        float* const to =
            output + image * shape.output_image_size() +
            (std::int64_t{group.first} * shape.out_height() + first_row) * shape.out_width();
        if (rows_fill_tiles(shape, group)) {
          convolve_rows(shape, planes, pixels, group, rows, next_input, to);
        } else {
          convolve_line(shape, planes, pixels, group, rows, scratch, next_input, to);
        }
      }
    }
  }
}

}  // namespace convlab
