// Input unrolling and a matrix multiplication in shared memory.
//
// Idea     Write the window of every output as a column of a matrix. Then the convolution is one
//          matrix product, and everything that is known about fast matrix products applies.
// Picture
//                 taps                    columns = images · out_height · out_width
//              ┌────────┐              ┌──────────────────────────┐
//     maps     │weights │   ×   taps   │ unrolled input           │   =   output, maps × columns
//              └────────┘              └──────────────────────────┘
//
// Cost     the unrolled input is K·K times the input: 12.5 GB for the first layer of the default
//          network at 10 000 images, with more elements than an int counts. It is therefore made
//          and used in slices, 256 MiB at most, and written and read once each.
// Expect   slower than the baseline's successors: the product is thin (4 or 16 maps), so the
//          traffic of the unrolled matrix decides. Its place is on the way to fused-gemm.
// Run      build/bin/m4 1000 --stage im2col-gemm --solution reference

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

constexpr int kUnrollBlock = 256;
constexpr int kTileColumns = 64;
constexpr int kTileTaps = 16;
constexpr int kThreadRows = 4;  // the block is (kThreadRows, kTileColumns) threads

// unrolled (taps, columns): thread x writes the K·K elements of one column that channel y provides.
__global__ void unroll_input(float* unrolled, const float* input, ConvShape shape) {
  const int pixels = shape.out_height() * shape.out_width();
  const std::int64_t columns = std::int64_t{shape.batch} * pixels;
  const std::int64_t column = std::int64_t{blockIdx.x} * kUnrollBlock + threadIdx.x;
  if (column >= columns) return;
  const int c = blockIdx.y;
  const int h = column % pixels / shape.out_width();
  const int w = column % shape.out_width();
  const float* window = input + column / pixels * shape.input_image_size() +
                        (c * shape.height + h * shape.stride) * shape.width + w * shape.stride;
  float* to = unrolled + c * shape.kernel * shape.kernel * columns + column;
  for (int p = 0; p < shape.kernel; ++p) {
    for (int q = 0; q < shape.kernel; ++q) {
      *to = window[p * shape.width + q];
      to += columns;
    }
  }
}

// output = weights (maps, taps) × unrolled (taps, columns). A block computes TileMaps ×
// kTileColumns products, each thread TileMaps / kThreadRows maps of one column.
template <int TileMaps>
__global__ void multiply(float* output, const float* weights, const float* unrolled, int maps,
                         int taps, std::int64_t columns, int pixels) {
  constexpr int kMapsPerThread = TileMaps / kThreadRows;
  __shared__ float weight_tile[kTileTaps][TileMaps];     // (taps, maps): a thread's maps adjoin
  __shared__ float input_tile[kTileTaps][kTileColumns];  // (taps, columns)
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const int thread = y * kTileColumns + x;
  const std::int64_t column = std::int64_t{blockIdx.x} * kTileColumns + x;
  const int first_map = blockIdx.y * TileMaps;

  float sum[kMapsPerThread] = {};
  for (int first_tap = 0; first_tap < taps; first_tap += kTileTaps) {
    for (int i = thread; i < kTileTaps * TileMaps; i += kThreadRows * kTileColumns) {
      const int tap = first_tap + i / TileMaps;
      const int map = first_map + i % TileMaps;
      weight_tile[i / TileMaps][i % TileMaps] =
          map < maps && tap < taps ? weights[map * taps + tap] : 0.0f;
    }
    for (int k = y; k < kTileTaps; k += kThreadRows) {
      const int tap = first_tap + k;
      input_tile[k][x] = column < columns && tap < taps ? unrolled[tap * columns + column] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTileTaps; ++k) {
#pragma unroll
      for (int m = 0; m < kMapsPerThread; ++m) {
        sum[m] += weight_tile[k][y * kMapsPerThread + m] * input_tile[k][x];
      }
    }
    __syncthreads();
  }
  if (column >= columns) return;
  const std::int64_t image = column / pixels;
  for (int m = 0; m < kMapsPerThread; ++m) {
    const int map = first_map + y * kMapsPerThread + m;
    if (map < maps) output[(image * maps + map) * pixels + column % pixels] = sum[m];
  }
}

class Im2colGemm final : public convlab::DeviceConvolution {
  void prepare() override {
    const std::int64_t image_elements =
        std::int64_t{shape().taps()} * shape().out_height() * shape().out_width();
    const std::int64_t slice_elements = workspace_bytes() / std::int64_t{sizeof(float)};
    images_at_once_ = static_cast<int>(
        std::clamp<std::int64_t>(slice_elements / image_elements, 1, shape().batch));
    unrolled_ = convlab::DeviceBuffer<float>(images_at_once_ * image_elements);
  }

  void release() override { unrolled_ = {}; }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    for (int first = 0; first < shape.batch; first += images_at_once_) {
      ConvShape slice = shape;
      slice.batch = std::min(images_at_once_, shape.batch - first);
      convolve_slice(output + first * shape.output_image_size(),
                     input + first * shape.input_image_size(), weights, slice);
    }
  }

  void convolve_slice(float* output, const float* input, const float* weights,
                      const ConvShape& slice) {
    const int pixels = slice.out_height() * slice.out_width();
    const std::int64_t columns = std::int64_t{slice.batch} * pixels;
    const dim3 unroll_grid((columns + kUnrollBlock - 1) / kUnrollBlock, slice.in_channels);
    unroll_input<<<unroll_grid, kUnrollBlock>>>(unrolled_.data(), input, slice);
    CONVLAB_CUDA_CHECK_LAUNCH(unroll_grid, kUnrollBlock, 0);

    // Few maps would leave most of a tall tile idle.
    const int tile_maps = slice.out_channels <= 4 ? 4 : 16;
    const auto kernel = tile_maps == 4 ? multiply<4> : multiply<16>;
    const dim3 grid((columns + kTileColumns - 1) / kTileColumns,
                    (slice.out_channels + tile_maps - 1) / tile_maps);
    const dim3 block(kTileColumns, kThreadRows);
    kernel<<<grid, block>>>(output, weights, unrolled_.data(), slice.out_channels, slice.taps(),
                            columns, pixels);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, block, 0);
  }

  convlab::DeviceBuffer<float> unrolled_;
  int images_at_once_ = 1;
};

const convlab::ConvolutionStage<Im2colGemm> stage({
    .id = "im2col-gemm",
    .title = "Unrolled input, matrix product in shared memory",
    .baseline = "baseline",
    .order = 110,
});

}  // namespace
