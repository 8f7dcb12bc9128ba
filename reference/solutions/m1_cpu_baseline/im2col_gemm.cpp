// Unrolled input and a matrix multiplication, slice by slice.
//
// Idea     A convolution is a matrix product. Write the pixels under the window for one output into
//          a column (im2col); the weights of one map are a row; row times column is the output.
//          The whole unrolled matrix has in_channels · kernel² times the pixels of the output:
//          12.5 GB for the first layer at 10 000 images. So we unroll a slice that fits a cache,
//          multiply, and use its memory again for the next slice.
// Picture                          taps × pixels of a slice
//                                  [ x x x x x x x x ]      row k: what tap k multiplies, for
//                                  [ x x x x x x x x ]      all pixels of the slice
//                                  [ x x x x x x x x ]
//              maps × taps
//              [ w w w ]           [ y y y y y y y y ]      maps × pixels: a piece of the output,
//              [ w w w ]           [ y y y y y y y y ]      in its final layout
//
//          The product runs in tiles that fill the registers (register_tile.hpp).
// Cost     each pixel is copied kernel² times, once for every tap that uses it, and read again by
//          each group of maps: with 4 maps the copy costs as much as the product.
// Expect   tens of times as fast as threads alone: in a matrix product only the last tile wastes
//          lanes. More maps share the cost of the copy.
// Run      build/bin/m1 1000 --solution reference --stage im2col-gemm

#include "reference/solutions/m1_cpu_baseline/im2col_gemm.hpp"

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/buffer.hpp"
#include "common/stage/cpu_stage.hpp"
#include "reference/solutions/m1_cpu_baseline/register_tile.hpp"
#include "reference/solutions/m1_cpu_baseline/vec.hpp"

namespace convlab {
namespace {

// A slice of the unrolled input: in the second-level cache, or most of it in the first.
constexpr std::int64_t kSliceFloats = 32 << 10;

// Output pixels per slice: a multiple of the width of the widest tile.
int slice_width(const ConvShape& shape) {
  const std::int64_t pixels = std::int64_t{shape.out_height()} * shape.out_width();
  const std::int64_t fitting = std::min(kSliceFloats / shape.taps(), pixels);
  return static_cast<int>(std::max<std::int64_t>((fitting + kMaxTileWidth - 1) / kMaxTileWidth, 1) *
                          kMaxTileWidth);
}

/// Unrolls output pixels first to first + count - 1, counted along the rows.
/// @param image  in_channels × height × width
/// @param slice  taps × pitch
void unroll(const ConvShape& shape, const float* image, std::int64_t first, int count, int pitch,
            float* slice) {
  const int out_width = shape.out_width();
  // Each piece ends with a row of the output or with the slice.
  for (int done = 0; done < count;) {
    const std::int64_t h = (first + done) / out_width;
    const int w = static_cast<int>((first + done) % out_width);
    const int piece = std::min(out_width - w, count - done);
    float* to = slice + done;
    for (int c = 0; c < shape.in_channels; ++c) {
      for (int p = 0; p < shape.kernel; ++p) {
        const std::int64_t row = std::int64_t{c} * shape.height + h * shape.stride + p;
        const float* const from = image + row * shape.width + std::int64_t{w} * shape.stride;
        for (int q = 0; q < shape.kernel; ++q) {
          if (shape.stride == 1) {
            copy_row(from + q, to, piece);
          } else {
            for (int i = 0; i < piece; ++i) to[i] = from[std::int64_t{i} * shape.stride + q];
          }
          to += pitch;
        }
      }
    }
    done += piece;
  }
}

/// One group of maps times one slice.
/// @param rows    where each tap's row starts in the slice
/// @param output  maps × `map_size`; count pixels of each are written
void multiply(const ConvShape& shape, const MapGroup& group, const float* slice,
              const std::ptrdiff_t* rows, int count, float* output, std::ptrdiff_t map_size) {
  const MultiplyTile multiply_tile = multiply_tile_for(group.maps);
  const int width = group.tile_width();
  int n = 0;
  for (; n + width <= count; n += width) {
    multiply_tile(shape.taps(), slice + n, rows, group.weights.data(), output + n, map_size);
  }
  if (n < count) {
    Vec rest[kMaxMaps * kMaxTileWidth / kLanes];
    float* const sums = reinterpret_cast<float*>(rest);
    multiply_tile(shape.taps(), slice + n, rows, group.weights.data(), sums, width);
    for (std::ptrdiff_t m = 0; m < group.maps; ++m) {
      copy_row(sums + m * width, output + m * map_size + n, count - n);
    }
  }
}

const CpuStage stage({.id = "im2col-gemm",
                      .title = "Unrolled input times weights",
                      .baseline = "openmp",
                      .order = 2},
                     convolve_im2col);

}  // namespace

void convolve_im2col(const ConvShape& shape, const float* input, const float* weights,
                     float* output) {
  const int threads = omp_get_max_threads();
  const std::vector<MapGroup> groups = group_maps(shape, weights);
  const std::int64_t pixels = std::int64_t{shape.out_height()} * shape.out_width();
  const int width = slice_width(shape);
  const std::int64_t slices = (pixels + width - 1) / width;
  // Rows are an odd number of cache lines apart. With a power of two all rows would share a few
  // lines of the cache.
  const int pitch = width + kLanes;
  std::vector<std::ptrdiff_t> rows(static_cast<std::size_t>(shape.taps()));
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<std::ptrdiff_t>(k) * pitch;
  const std::ptrdiff_t thread_size = std::ptrdiff_t{shape.taps()} * pitch + kMaxTileWidth;
  Buffer memory(threads * thread_size);

#pragma omp parallel num_threads(threads)
  {
    float* const slice = memory.data() + omp_get_thread_num() * thread_size;
#pragma omp for schedule(dynamic)
    for (std::int64_t item = 0; item < shape.batch * slices; ++item) {
      const std::int64_t image = item / slices;
      const std::int64_t first = item % slices * width;
      const int count = static_cast<int>(std::min<std::int64_t>(width, pixels - first));
      unroll(shape, input + image * shape.input_image_size(), first, count, pitch, slice);
      for (const MapGroup& group : groups) {
        multiply(shape, group, slice, rows.data(), count,
                 output + image * shape.output_image_size() + group.first * pixels + first, pixels);
      }
    }
  }
}

}  // namespace convlab
