// Tensor cores, half precision.
//
// Idea     A tensor core multiplies a 16×16 by a 16×16 matrix of halves in one warp-wide operation
//          and adds up in single precision. To feed it, fused-gemm's way is too slow: it stores
//          every input K·K times in shared memory. Here a matrix column is no window of one output
//          but a window of 16 input columns that serves 8 neighbouring outputs. The next window
//          begins 8 columns further on, so every input is stored twice instead of 49 times.
// Picture  one row p of the kernel and one channel, K = 7:
//
//              weights, 8 rows for each map                  windows of the input row h + p
//              w0 w1 w2 w3 w4 w5 w6 0  0  0  0  0  0 0 0 0     x0  x8  x16 …
//              0  w0 w1 w2 w3 w4 w5 w6 0  0  0  0  0 0 0 0     x1  x9  x17 …
//              0  0  w0 w1 w2 w3 w4 w5 w6 0  0  0  0 0 0 0  ×  …
//              …                                               x14 x22 x30 …
//              0  0  0  0  0  0  0  w0 w1 w2 w3 w4 w5 w6 0 0   x15 x23 x31 …
//
//          Row j of a map times window g is what this row of the kernel adds to output column
//          8·g + j. The sum over all K rows and C channels stays in accumulator fragments. The
//          windows of all rows lie one after the other in shared memory, so that the matrix for
//          the next row p is the same memory, one row of windows further on.
// Cost     7 of 16 products are with weights, the others with zeros: 16/7 of the arithmetic, of
//          which tensor cores have plenty. Shared memory: 2 stores for an input, and one fragment
//          load for 1.3 operations (fused: 49 stores, and one load for an operation).
// Expect   tensor cores or memory as the limit, no longer the filling of the tile. Inputs are
//          rounded to 11 bits: precision class fp16. Strides and kernels above 9 take the form of
//          any_shape_product.cuh.
// Run      build/bin/m4 1000 --stage tensor-cores-fp16 --solution reference

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstdint>

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m4_optimizations/any_shape_product.cuh"
#include "reference/solutions/m4_optimizations/strips.cuh"

namespace {

using convlab::ConvShape;
using convlab::tensor_cores::kGroupColumns;
using convlab::tensor_cores::kWindowColumns;
using convlab::tensor_cores::Strips;
using namespace nvcuda;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kTile = 16;  // rows, columns and depth of one operation
constexpr int kMapsPerTile = kTile / kGroupColumns;

// A warp computes MapTiles × WindowTiles products of 16×16 at a time: each weight fragment that it
// loads serves WindowTiles operations, each input fragment MapTiles.
template <int MapTiles, int WindowTiles>
struct Shared {
  static constexpr int kRows = MapTiles * kTile;  // of the weight matrices

  static std::int64_t fixed_bytes(const ConvShape& shape) {
    const std::int64_t weights =
        std::int64_t{shape.in_channels} * shape.kernel * kRows * kWindowColumns;
    // Tiles at the end of the last channel may read past it.
    const std::int64_t padding = WindowTiles * kTile * kWindowColumns;
    return sizeof(half) * (weights + padding) + sizeof(float) * kWarps * kTile * kTile;
  }
  static std::int64_t row_bytes(const ConvShape& shape) {
    const int groups = (shape.out_width() + kGroupColumns - 1) / kGroupColumns;
    return std::int64_t{shape.in_channels} * groups * kWindowColumns * sizeof(half);
  }
};

// matrices (channels, kernel, maps · 8, 16): row m·8 + j holds a kernel row, moved j to the right.
__device__ void spread_weights(half* matrices, const float* weights, const ConvShape& shape,
                               int first_map, int rows) {
  const int count = shape.in_channels * shape.kernel * rows * kWindowColumns;
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const int k = i % kWindowColumns;
    const int row = i / kWindowColumns % rows;
    const int channel_row = i / kWindowColumns / rows;  // c · kernel + p
    const int map = first_map + row / kGroupColumns;
    const int q = k - row % kGroupColumns;
    const bool real = map < shape.out_channels && q >= 0 && q < shape.kernel;
    matrices[i] = __float2half(
        real ? weights[(map * shape.in_channels * shape.kernel + channel_row) * shape.kernel + q]
             : 0.0f);
  }
}

// windows (channels, input_rows, groups, 16): every pair of columns goes into two windows.
__device__ void load_windows(half* windows, const float* image, const ConvShape& shape,
                             int first_row, int input_rows, int groups) {
  constexpr int kGroupPairs = kGroupColumns / 2;
  constexpr int kWindowPairs = kWindowColumns / 2;
  half2* pairs = reinterpret_cast<half2*>(windows);
  convlab::tensor_cores::load_strip<kThreads>(
      image, shape, first_row, input_rows, (groups + 1) * kGroupPairs,
      [=](const auto& at, float2 pair) {
        const half2 both = __floats2half2_rn(pair.x, pair.y);
        const int group = at.x / kGroupPairs;
        half2* window = pairs + ((at.channel * input_rows + at.y) * groups + group) * kWindowPairs +
                        at.x % kGroupPairs;
        if (group < groups) *window = both;
        if (group > 0) *(window - kWindowPairs + kGroupPairs) = both;  // as its right half
      });
}

template <int MapTiles, int WindowTiles>
__global__ void __launch_bounds__(kThreads, 2)
    conv_forward(float* __restrict__ output, const float* __restrict__ input,
                 const float* __restrict__ weights, ConvShape shape, Strips strips) {
  constexpr int kRows = MapTiles * kTile;
  constexpr int kUnit = WindowTiles * kTile;
  const int groups = strips.groups;
  const convlab::tensor_cores::Divider by_groups(groups);
  const int input_rows = strips.rows + shape.kernel - 1;
  const int channel_windows = input_rows * groups;
  extern __shared__ __align__(32) char shared[];
  float* scratch = reinterpret_cast<float*>(shared);  // (kWarps, 16 windows, 16 rows)
  half* matrices = reinterpret_cast<half*>(scratch + kWarps * kTile * kTile);
  // (channels, kernel, kRows, 16)
  half* windows = matrices + shape.in_channels * shape.kernel * kRows * kWindowColumns;
  // (channels, input_rows, groups, 16)
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int first_map = blockIdx.y * MapTiles * kMapsPerTile;
  const int pixels = shape.out_height() * shape.out_width();
  float* mine = scratch + warp * kTile * kTile;
  spread_weights(matrices, weights, shape, first_map, kRows);

  const std::int64_t work = std::int64_t{shape.batch} * strips.count;
  for (std::int64_t item = blockIdx.x; item < work; item += gridDim.x) {
    const std::int64_t image = item / strips.count;
    const int first_row = item % strips.count * strips.rows;
    __syncthreads();  // the strip before has been read
    load_windows(windows, input + image * shape.input_image_size(), shape, first_row, input_rows,
                 groups);
    __syncthreads();  // this strip is complete
    const int rows = min(strips.rows, shape.out_height() - first_row);

    for (int first = warp * kUnit; first < rows * groups; first += kWarps * kUnit) {
      wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float> sum[MapTiles][WindowTiles];
#pragma unroll
      for (int m = 0; m < MapTiles; ++m) {
#pragma unroll
        for (int n = 0; n < WindowTiles; ++n) wmma::fill_fragment(sum[m][n], 0.0f);
      }
      const half* matrix = matrices;
      for (int c = 0; c < shape.in_channels; ++c) {
        const half* window = windows + (c * channel_windows + first) * kWindowColumns;
        for (int p = 0; p < shape.kernel; ++p) {
          wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, half, wmma::col_major>
              right[WindowTiles];
#pragma unroll
          for (int n = 0; n < WindowTiles; ++n) {
            wmma::load_matrix_sync(right[n], window + n * kTile * kWindowColumns, kWindowColumns);
          }
#pragma unroll
          for (int m = 0; m < MapTiles; ++m) {
            wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, half, wmma::row_major> left;
            wmma::load_matrix_sync(left, matrix + m * kTile * kWindowColumns, kWindowColumns);
#pragma unroll
            for (int n = 0; n < WindowTiles; ++n) {
              wmma::mma_sync(sum[m][n], left, right[n], sum[m][n]);
            }
          }
          matrix += kRows * kWindowColumns;
          window += groups * kWindowColumns;  // the same outputs' next input row
        }
      }

      // CUDA leaves a fragment's layout open, so the sums go through shared memory, 16×16 at a
      // time. Thread by thread they are then 8 neighbouring outputs of 4 neighbouring groups.
#pragma unroll
      for (int n = 0; n < WindowTiles; ++n) {
        constexpr int kSteps = kTile / (32 / kGroupColumns);
        int place[kSteps];  // in the output map; -1: outside
#pragma unroll
        for (int i = 0; i < kSteps; ++i) {
          const int window = first + n * kTile + i * (32 / kGroupColumns) + lane / kGroupColumns;
          const int h = by_groups.quotient(window);
          const int w = by_groups.remainder(window) * kGroupColumns + lane % kGroupColumns;
          place[i] =
              h < rows && w < shape.out_width() ? (first_row + h) * shape.out_width() + w : -1;
        }
#pragma unroll
        for (int m = 0; m < MapTiles; ++m) {
          wmma::store_matrix_sync(mine, sum[m][n], kTile, wmma::mem_col_major);
          __syncwarp();
#pragma unroll
          for (int half_tile = 0; half_tile < kMapsPerTile; ++half_tile) {
            const int map = first_map + m * kMapsPerTile + half_tile;
            float* to = output + (image * shape.out_channels + map) * pixels;
#pragma unroll
            for (int i = 0; i < kSteps; ++i) {
              const float value = mine[(i * (32 / kGroupColumns) + lane / kGroupColumns) * kTile +
                                       half_tile * kGroupColumns + lane % kGroupColumns];
              if (map < shape.out_channels && place[i] >= 0) to[place[i]] = value;
            }
          }
          __syncwarp();
        }
      }
    }
  }
}

class TensorCoresFp16 final : public convlab::DeviceConvolution {
  void prepare() override {
    // 8 maps in a block if that leaves room for the input, otherwise 4.
    form_ = Form::kAnyShape;
    if (!convlab::tensor_cores::windows_cover(shape())) return;
    if (shape().out_channels % 8 == 0 && plan<4, 2>()) {
      form_ = Form::kEightMaps;
    } else if (plan<2, 4>()) {
      form_ = Form::kFourMaps;
    }
  }

  template <int MapTiles, int WindowTiles>
  bool plan() {
    using Memory = Shared<MapTiles, WindowTiles>;
    const int map_blocks =
        (shape().out_channels + MapTiles * kMapsPerTile - 1) / (MapTiles * kMapsPerTile);
    strips_ = convlab::tensor_cores::cut_into_strips(shape(), Memory::fixed_bytes(shape()),
                                                     Memory::row_bytes(shape()), map_blocks);
    if (!strips_.fit()) return false;
    bytes_ = Memory::fixed_bytes(shape()) +
             Memory::row_bytes(shape()) * (strips_.rows + shape().kernel - 1);
    grid_ = convlab::tensor_cores::resident_grid(
        conv_forward<MapTiles, WindowTiles>, kThreads, bytes_,
        std::int64_t{shape().batch} * strips_.count, map_blocks);
    return true;
  }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    using convlab::tensor_cores::HalfOperand;
    if (form_ == Form::kAnyShape) {
      // Few maps: half of the flattest operation, 8×32×16.
      const auto product = shape.out_channels <= 8
                               ? convlab::tensor_cores::launch_any_shape<HalfOperand, 8, 32>
                               : convlab::tensor_cores::launch_any_shape<HalfOperand, 16, 16>;
      product(output, input, weights, shape);
      return;
    }
    const auto kernel = form_ == Form::kEightMaps ? conv_forward<4, 2> : conv_forward<2, 4>;
    kernel<<<grid_, kThreads, bytes_>>>(output, input, weights, shape, strips_);
    CONVLAB_CUDA_CHECK_LAUNCH(grid_, kThreads, bytes_);
  }

  enum class Form { kAnyShape, kFourMaps, kEightMaps };
  Form form_ = Form::kAnyShape;
  Strips strips_;
  std::int64_t bytes_ = 0;
  dim3 grid_;
};

const convlab::ConvolutionStage<TensorCoresFp16> stage({
    .id = "tensor-cores-fp16",
    .title = "Tensor cores (WMMA), half precision",
    .baseline = "fused-gemm",
    .order = 130,
    .precision = convlab::Precision::kFp16,
    .needs = {7, 0},
});

}  // namespace
