// Fewer multiplications: Winograd's short filters, along the columns.
//
// Idea     Two outputs, one below the other, of a filter with a column of three weights take six
//          multiplications. Winograd's method takes four, with sums and differences of inputs and
//          of weights:
//
//              m1 = (d0 - d2) · g0                    y0 = d0·g0 + d1·g1 + d2·g2 = m1 + m2 + m3
//              m2 = (d1 + d2) · (g0 + g1 + g2)/2      y1 = d1·g0 + d2·g1 + d3·g2 = m2 - m3 - m4
//              m3 = (d2 - d1) · (g0 - g1 + g2)/2
//              m4 = (d1 - d3) · g2
//
//          The rows of a kernel are groups of three and single rows: 7 = 3 + 3 + 1. Each d is a
//          whole row of pixels and each g a row of weights, so the tile of map-lanes (map_tile.hpp)
//          can compute every m. y0 and y1 are computed once, from the sums over all channels.
// Picture  rows of the input that a pair of output rows needs, and rows of products for them
//
//              kernel 7     d0 d1 d2 d3 d4 d5 d6 d7      upper      m1, m1, d6·g6     → y0
//                           └─ F(2,3) ─┘                 lower      m4, m4, d7·g6     → y1
//                                    └─ F(2,3) ─┘        both       m2, m2            → y0, y1
//                                             d6 d7      opposite   m3, m3            → y0, -y1
//
// Cost     10 of 14 multiply-adds, 8 of 10 with kernel 5. Three planes of sums and differences
//          besides the rows, computed once for all maps: 3 additions for a pixel. Accuracy: m1
//          subtracts d2·g0 from y0, and m2 and m3 add it again. If the weight of d2 is small and
//          the rest of the window is black, the rounding error of the large product is large
//          compared with the result. Windows of zeros give exactly zero, because y0 uses only d0 to
//          d2. For matrix products W. Miller proved (1975) that an error bound for each element
//          needs all multiplications. With one channel and a trained network the error reached
//          5 500 units of 2^-24 · Σ|a||b|, where 32 are allowed. A window of four and more channels
//          rarely has only one pixel that is not black (docs/performance.md has the figures). So
//          layers with fewer than four channels run per-layer. So do small batches, where the sums
//          of weights would take longer than they save.
// Expect   0.8 of the time of map-lanes in layers with many channels, because sums, differences and
//          stores remain; no gain in first layers.
// Run      build/bin/m1 1000 --solution reference --stage fewer-products
// Source   S. Winograd, Arithmetic Complexity of Computations, 1980; A. Lavin and S. Gray, Fast
//          Algorithms for Convolutional Neural Networks, 2016.

#include "reference/solutions/m1_cpu_baseline/fewer_products.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/buffer.hpp"
#include "common/stage/cpu_stage.hpp"
#include "reference/solutions/m1_cpu_baseline/map_tile.hpp"
#include "reference/solutions/m1_cpu_baseline/per_layer.hpp"
#include "reference/solutions/m1_cpu_baseline/phase_planes.hpp"
#include "reference/solutions/m1_cpu_baseline/prefetch.hpp"
#include "reference/solutions/m1_cpu_baseline/vec.hpp"

namespace convlab {
namespace {

// The input of a band with its sums and differences: in the second-level cache.
constexpr std::int64_t kBandFloats = 32 << 10;
constexpr int kStripFloats = 1 << 10;  // of sums: in the first-level cache

// With fewer channels, many windows have only one pixel that is not black, and their error is too
// large.
constexpr int kFewestChannels = 4;

// The left factor of a product: an input row, or a sum or difference of input rows.
enum Plane { kRow, kMinusSecond, kPlusNext, kNextMinus, kPlanes };

// The four sums of products. With rows y0 and y1 of a pair of output rows,
// y0 = upper + both + opposite and y1 = lower + both - opposite.
enum Sum { kUpper, kLower, kBoth, kOpposite, kSums };

// A row of products: row `row` of a plane, counted from the pair's first input row, times
// Σ factors[i] · weight row (tap + i).
struct RowProduct {
  Plane plane;
  int row;
  int tap;
  std::array<float, 3> factors;
};

using RowProducts = std::array<std::vector<RowProduct>, kSums>;

// The kernel's rows: filters of three taps, and at least the last row by itself. Objects often end
// at the last row of a window, and a plain product has no additional error.
RowProducts split_kernel(int kernel) {
  RowProducts products;
  int tap = 0;
  for (; tap + 3 < kernel; tap += 3) {
    products[kUpper].push_back({kMinusSecond, tap, tap, {1.0f, 0.0f, 0.0f}});
    products[kBoth].push_back({kPlusNext, tap + 1, tap, {0.5f, 0.5f, 0.5f}});
    products[kOpposite].push_back({kNextMinus, tap + 1, tap, {0.5f, -0.5f, 0.5f}});
    products[kLower].push_back({kMinusSecond, tap + 1, tap, {0.0f, 0.0f, -1.0f}});
  }
  for (; tap < kernel; ++tap) {
    products[kUpper].push_back({kRow, tap, tap, {1.0f, 0.0f, 0.0f}});
    products[kLower].push_back({kRow, tap + 1, tap, {1.0f, 0.0f, 0.0f}});
  }
  return products;
}

// Rows of products for two rows of output; the definition has 2 · kernel.
int count_products(int kernel) {
  std::size_t count = 0;
  for (const auto& products : split_kernel(kernel)) count += products.size();
  return static_cast<int>(count);
}

// One of the four sums, as a convolution for the tiles of map-lanes.
struct Term {
  int taps = 0;
  std::vector<std::ptrdiff_t> offsets;
  std::vector<float> weights;  // [group][tap][map in the group]
};

Term make_term(const ConvShape& shape, const MapTiling& tiling, const PhasePlanes& planes,
               std::ptrdiff_t plane_size, const std::vector<RowProduct>& products,
               const float* weights) {
  const std::ptrdiff_t kernel = shape.kernel;
  Term term;
  for (std::ptrdiff_t c = 0; c < shape.in_channels; ++c) {
    for (const RowProduct& product : products) {
      for (std::ptrdiff_t q = 0; q < kernel; ++q) {
        term.offsets.push_back(product.plane * plane_size + planes.offsets()[c * kernel * kernel] +
                               product.row * std::ptrdiff_t{planes.pitch()} + q);
      }
    }
  }
  term.taps = static_cast<int>(term.offsets.size());
  if (term.taps == 0) return term;
  const int width = tiling.group_maps();
  term.weights.resize(static_cast<std::size_t>(tiling.groups) * term.offsets.size() *
                      static_cast<std::size_t>(width));
  for (int m = 0; m < shape.out_channels; ++m) {
    float* to = term.weights.data() + std::ptrdiff_t{m / width} * term.taps * width + m % width;
    for (std::ptrdiff_t c = 0; c < shape.in_channels; ++c) {
      const float* const window = weights + (m * shape.in_channels + c) * kernel * kernel;
      for (const RowProduct& product : products) {
        // With a factor of zero the kernel may not have this row.
        std::array<const float*, 3> rows;
        for (std::size_t i = 0; i < 3; ++i) {
          const bool used = product.factors[i] != 0.0f;
          rows[i] = window + (product.tap + (used ? static_cast<int>(i) : 0)) * kernel;
        }
        for (std::ptrdiff_t q = 0; q < kernel; ++q, to += width) {
          // In double precision, so that a weight is rounded once.
          *to = static_cast<float>(double{product.factors[0]} * double{rows[0][q]} +
                                   double{product.factors[1]} * double{rows[1][q]} +
                                   double{product.factors[2]} * double{rows[2][q]});
        }
      }
    }
  }
  return term;
}

// Computes all planes from rows that lie `pitch` apart.
// @param rows  `count` floats: the first plane, or an image
void make_planes(const float* rows, std::ptrdiff_t count, std::ptrdiff_t pitch, float* planes,
                 std::ptrdiff_t plane_size) {
  const std::ptrdiff_t with_second = std::max<std::ptrdiff_t>(count - 2 * pitch - kLanes + 1, 0);
  std::ptrdiff_t i = 0;
  for (; i < with_second; i += kLanes) {
    const Vec row = load(rows + i);
    const Vec next = load(rows + i + pitch);
    store(planes + kRow * plane_size + i, row);
    store(planes + kMinusSecond * plane_size + i, row - load(rows + i + 2 * pitch));
    store(planes + kPlusNext * plane_size + i, row + next);
    store(planes + kNextMinus * plane_size + i, next - row);
  }
  for (; i < count; ++i) {
    const float row = rows[i];
    planes[kRow * plane_size + i] = row;
    if (i + 2 * pitch < count) planes[kMinusSecond * plane_size + i] = row - rows[i + 2 * pitch];
    if (i + pitch >= count) continue;
    planes[kPlusNext * plane_size + i] = row + rows[i + pitch];
    planes[kNextMinus * plane_size + i] = rows[i + pitch] - row;
  }
}

// The four sums of a tile, pixels × maps each.
using Targets = std::array<float*, kSums>;

// Computes y0 in place of `upper` and y1 in place of `lower`.
void finish_tile(const Targets& sums, std::ptrdiff_t count) {
  for (std::ptrdiff_t i = 0; i < count; i += kLanes) {
    const Vec sum = load(sums[kBoth] + i);
    const Vec difference = load(sums[kOpposite] + i);
    store(sums[kUpper] + i, load(sums[kUpper] + i) + (sum + difference));
    store(sums[kLower] + i, load(sums[kLower] + i) + (sum - difference));
  }
}

// Whether the saved multiply-adds take longer than the sums of weights, which every call computes
// again.
bool gains(const ConvShape& shape) {
  if (shape.stride > 1 || shape.in_channels < kFewestChannels || shape.kernel < 2) return false;
  constexpr double kCyclesPerWeight = 10.0;
  const int products = count_products(shape.kernel);
  const double sums_of_weights =
      1.0 * shape.out_channels * shape.in_channels * products * shape.kernel;
  const double share = products / (2.0 * shape.kernel);
  const double saved = choose_for_layer(shape).cost - map_lanes_cost(shape, share);
  const double vectors = static_cast<double>(shape.output_size()) / kLanes;
  return saved * vectors / omp_get_max_threads() > kCyclesPerWeight * sums_of_weights;
}

void convolve_fewer_products(const ConvShape& shape, const float* input, const float* weights,
                             float* output) {
  const ConvForward forward = gains(shape) ? convolve_row_pairs : convolve_per_layer;
  forward(shape, input, weights, output);
}

const CpuStage stage(
    {.id = "fewer-products", .title = "Fewer multiplications", .baseline = "per-layer", .order = 6},
    convolve_fewer_products);

}  // namespace

void convolve_row_pairs(const ConvShape& shape, const float* input, const float* weights,
                        float* output) {
  const int threads = omp_get_max_threads();
  const int band_rows = (PhasePlanes::band_rows(shape, kBandFloats / kPlanes, threads) + 1) / 2 * 2;
  const int bands = (shape.out_height() + band_rows - 1) / band_rows;
  const PhasePlanes planes(shape, band_rows);
  const std::ptrdiff_t pitch = planes.pitch();
  const std::ptrdiff_t plane_size = (planes.size() + kLanes - 1) / kLanes * kLanes;
  const MapTiling tiling(shape);
  const RowProducts products = split_kernel(shape.kernel);
  std::array<Term, kSums> terms;
  for (std::size_t s = 0; s < kSums; ++s) {
    terms[s] = make_term(shape, tiling, planes, plane_size, products[s], weights);
  }
  const std::ptrdiff_t group_maps = tiling.group_maps();
  const std::ptrdiff_t out_width = shape.out_width();
  const std::ptrdiff_t map_size = shape.out_height() * out_width;
  const std::ptrdiff_t row_sums = out_width * group_maps;
  const std::ptrdiff_t tile_sums = tiling.pixels * group_maps;
  const int strip_rows =
      std::clamp(static_cast<int>(kStripFloats / row_sums / 2 * 2), 2, band_rows);

  const int steps = tiling.tiles_per_row * static_cast<int>(kSums);
  const std::ptrdiff_t thread_size = kPlanes * plane_size + strip_rows * row_sums + 2 * tile_sums;
  Buffer memory(threads * thread_size);

#pragma omp parallel num_threads(threads)
  {
    float* const band = memory.data() + omp_get_thread_num() * thread_size;
    float* const sums = band + kPlanes * plane_size;
    float* const both = sums + strip_rows * row_sums;
    float* const opposite = both + tile_sums;
#pragma omp for schedule(dynamic)
    for (std::int64_t item = 0; item < std::int64_t{shape.batch} * bands; ++item) {
      const std::int64_t image = item / bands;
      const int first_row = static_cast<int>(item % bands) * band_rows;
      const int rows = std::min(band_rows, shape.out_height() - first_row);
      const float* pixels = input + image * shape.input_image_size();
      if (!planes.equal_image()) {
        planes.pack(pixels, first_row, band);
        pixels = band;
      }
      make_planes(pixels, planes.size(), pitch, band, plane_size);
      NextInput next_input(shape, input, item + threads, bands, (rows + 1) / 2 * steps);
      for (int group = 0; group < tiling.groups; ++group) {
        const int first_map = group * tiling.group_maps();
        const int maps = std::min(tiling.group_maps(), shape.out_channels - first_map);
        for (int strip = 0; strip < rows; strip += strip_rows) {
          const int strip_end = std::min(strip + strip_rows, rows);
          float* const to = output + image * shape.output_image_size() + first_map * map_size +
                            (first_row + strip) * out_width;
          for (int h = strip; h < strip_end; h += 2) {
            const std::ptrdiff_t row = h - strip;
            NextOutput next_output(to + row * out_width, std::min(2, strip_end - h) * out_width,
                                   maps, map_size, steps);
            for (int t = 0; t < tiling.tiles_per_row; ++t) {
              const std::ptrdiff_t w =
                  std::min(t * tiling.pixels, shape.out_width() - tiling.pixels);
              float* const upper = sums + row * row_sums + w * group_maps;
              const Targets targets = {upper, upper + row_sums, both, opposite};
              for (std::size_t s = 0; s < kSums; ++s) {
                next_output.advance();
                next_input.advance();
                tiling.multiply(terms[s].taps, band + h * pitch + w, terms[s].offsets.data(),
                                terms[s].weights.data() + std::ptrdiff_t{first_map} * terms[s].taps,
                                targets[s]);
              }
              finish_tile(targets, tile_sums);
            }
          }
          store_transposed(sums, static_cast<int>((strip_end - strip) * out_width),
                           tiling.group_maps(), maps, to, map_size);
        }
      }
    }
  }
}

}  // namespace convlab
