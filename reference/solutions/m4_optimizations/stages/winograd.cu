// Fewer multiplications: Winograd's short filters.
//
// Idea     Two neighbouring outputs of a filter with three taps take six multiplications.
//          Winograd's method takes four, with sums of inputs and of weights that are computed
//          before:
//
//              m1 = (d0 - d2) · g0                    y0 = d0·g0 + d1·g1 + d2·g2 = m1 + m2 + m3
//              m2 = (d1 + d2) · (g0 + g1 + g2)/2      y1 = d1·g0 + d2·g1 + d3·g2 = m2 - m3 - m4
//              m3 = (d2 - d1) · (g0 - g1 + g2)/2
//              m4 = (d1 - d3) · g2
//
//          A row of 7 weights is two such filters and one more weight: 7 = 3 + 3 + 1. The m of both
//          filters and of all rows and channels are added first. Then y0 and y1 are computed once.
// Picture  one row of a window, outputs w and w + 1:
//
//              d0 d1 d2 d3 d4 d5 d6 d7
//              └─ F(2,3) ─┘                 4 multiplications
//                       └─ F(2,3) ─┘        4                      10 instead of 14
//                                d6 d7      2
//
// Cost     10/14 of the multiply-adds; 8 additions for each row of inputs, which 4 maps share; 4
//          sums instead of 2 for two outputs, so 48 registers for 2 × 3 outputs of 4 maps, and 72
//          for their inputs. A small kernel transforms the weights first, at each call.
// Expect   a gain over the same kernel without Winograd if arithmetic is the limit, but less than
//          1.4 times. Accuracy: m1 subtracts d2·g0 from y0, and m2 and m3 add it again. If g0 is
//          large and the weight of d2 is small, the error is that of the large product. On test
//          images it reached 46 units of 2^-24 · Σ|a||b|, and fp32 allows 32, so the stage declares
//          the next class. Windows of zeros give exactly zero, because y0 uses only d0 to d2.
// Run      build/bin/m4 1000 --stage winograd --solution reference
// Source   S. Winograd, Arithmetic Complexity of Computations, 1980; A. Lavin and S. Gray, Fast
//          Algorithms for Convolutional Neural Networks, 2016.

#include <cuda_runtime.h>

#include <cstdint>

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m4_optimizations/any_shape.cuh"

namespace {

using convlab::ConvShape;

constexpr int kThreads = 128;
constexpr int kMaps = 4;  // of one thread
constexpr int kRows = 3;  // of one thread; it computes 2 columns

// A row of KernelSize weights: as many filters of three taps as fit, then single weights.
template <int KernelSize>
struct Row {
  static constexpr int kFilters = KernelSize / 3;
  static constexpr int kSingles = KernelSize % 3;
  static constexpr int kProducts = 4 * kFilters + 2 * kSingles;  // for two outputs
  static constexpr int kWeights = 4 * kFilters + kSingles;
};

// transformed (groups of maps, channels, p, kWeights, kMaps): thread = one row of weights of one
// map.
template <int KernelSize>
__global__ void transform_weights(float* transformed, const float* weights, ConvShape shape,
                                  int padded_maps) {
  using R = Row<KernelSize>;
  const int row = blockIdx.x * kThreads + threadIdx.x;  // (maps, channels, p)
  const int rows_of_map = shape.in_channels * KernelSize;
  if (row >= padded_maps * rows_of_map) return;
  const int map = row / rows_of_map;
  float g[KernelSize];
  for (int q = 0; q < KernelSize; ++q) {
    g[q] = map < shape.out_channels ? weights[row * KernelSize + q] : 0.0f;
  }
  float* to = transformed +
              ((map / kMaps) * rows_of_map + row % rows_of_map) * (R::kWeights * kMaps) +
              map % kMaps;
  const auto put = [&](float value) {
    *to = value;
    to += kMaps;
  };
  for (int f = 0; f < R::kFilters; ++f) {
    const float* t = g + 3 * f;
    put(t[0]);
    put((t[0] + t[1] + t[2]) * 0.5f);
    put((t[0] - t[1] + t[2]) * 0.5f);
    put(t[2]);
  }
  for (int s = 0; s < R::kSingles; ++s) put(g[3 * R::kFilters + s]);
}

// sum[r] += input[p + r] · weight of every map, for all rows p of the filter. A weight is read
// once.
template <int KernelSize>
__device__ void add(float (&sum)[kRows][kMaps], const float (&input)[kRows + KernelSize - 1],
                    const float4* weight) {
#pragma unroll
  for (int p = 0; p < KernelSize; ++p) {
    const float4 four = weight[p * Row<KernelSize>::kWeights];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      sum[r][0] += input[p + r] * four.x;
      sum[r][1] += input[p + r] * four.y;
      sum[r][2] += input[p + r] * four.z;
      sum[r][3] += input[p + r] * four.w;
    }
  }
}

// Stride 1. A thread computes kMaps maps of 2 columns × kRows rows. Even says that the width of the
// image is even, so that two neighbours can be loaded at once.
template <int KernelSize, bool Even>
__global__ void __launch_bounds__(kThreads, 3)
    conv_forward(float* __restrict__ output, const float* __restrict__ input,
                 const float* __restrict__ transformed, ConvShape shape) {
  using R = Row<KernelSize>;
  constexpr int kInputs = KernelSize + 1;  // of a row
  constexpr int kInputRows = kRows + KernelSize - 1;
  extern __shared__ float4 weight_tile[];  // (channels, p, kWeights), 4 maps each
  const int group_weights = shape.in_channels * KernelSize * R::kWeights;
  const int group = blockIdx.y;
  for (int i = threadIdx.x; i < group_weights; i += kThreads) {
    weight_tile[i] = reinterpret_cast<const float4*>(transformed)[group * group_weights + i];
  }
  __syncthreads();

  const int strips = (shape.out_height() + kRows - 1) / kRows;
  const int pairs = (shape.out_width() + 1) / 2;
  const std::int64_t position = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t image = position / (strips * pairs);
  if (image >= shape.batch) return;
  const int place = static_cast<int>(position - image * strips * pairs);
  const int h = place / pairs * kRows;
  const int w = place % pairs * 2;

  float m1[kRows][kMaps] = {}, m2[kRows][kMaps] = {}, m3[kRows][kMaps] = {}, m4[kRows][kMaps] = {};
#pragma unroll 1
  for (int c = 0; c < shape.in_channels; ++c) {
    const float* plane =
        input + image * shape.input_image_size() + std::int64_t{c} * shape.height * shape.width;
    const float4* weight = weight_tile + c * KernelSize * R::kWeights;
    float d[kInputs][kInputRows];
#pragma unroll
    for (int y = 0; y < kInputRows; ++y) {
      // Rows and columns outside the image belong to outputs that are not stored; the last row
      // replaces them.
      const float* from = plane + min(h + y, shape.height - 1) * shape.width + w;
#pragma unroll
      for (int x = 0; x < kInputs; x += 2) {
        if constexpr (Even) {
          const float2 two = *reinterpret_cast<const float2*>(from + x);
          d[x][y] = two.x;
          d[x + 1][y] = two.y;
        } else {
          d[x][y] = from[x];
          d[x + 1][y] = w + x + 1 < shape.width ? from[x + 1] : 0.0f;
        }
      }
    }
    float t[kInputRows];
    const auto sums = [&](int i, float sign, int k) {  // t = d[i] + sign · d[k]
#pragma unroll
      for (int y = 0; y < kInputRows; ++y) t[y] = d[i][y] + sign * d[k][y];
    };
#pragma unroll
    for (int f = 0; f < R::kFilters; ++f) {
      const int x = 3 * f;
      sums(x, -1.0f, x + 2);
      add<KernelSize>(m1, t, weight + 4 * f);
      sums(x + 1, 1.0f, x + 2);
      add<KernelSize>(m2, t, weight + 4 * f + 1);
      sums(x + 2, -1.0f, x + 1);
      add<KernelSize>(m3, t, weight + 4 * f + 2);
      sums(x + 1, -1.0f, x + 3);
      add<KernelSize>(m4, t, weight + 4 * f + 3);
    }
    // A single weight times one input is added to y0 through m1; times the next input it is added
    // to y1 through m4, which y1 subtracts.
#pragma unroll
    for (int s = 0; s < R::kSingles; ++s) {
      const int x = 3 * R::kFilters + s;
#pragma unroll
      for (int y = 0; y < kInputRows; ++y) t[y] = -d[x + 1][y];
      add<KernelSize>(m1, d[x], weight + 4 * R::kFilters + s);
      add<KernelSize>(m4, t, weight + 4 * R::kFilters + s);
    }
  }

#pragma unroll
  for (int m = 0; m < kMaps; ++m) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int map = group * kMaps + m;
      if (map >= shape.out_channels || h + r >= shape.out_height()) continue;
      float* to = output + image * shape.output_image_size() +
                  (std::int64_t{map} * shape.out_height() + h + r) * shape.out_width() + w;
      to[0] = m1[r][m] + m2[r][m] + m3[r][m];
      if (w + 1 < shape.out_width()) to[1] = m2[r][m] - m3[r][m] - m4[r][m];
    }
  }
}

class Winograd final : public convlab::DeviceConvolution {
  static constexpr std::size_t kMostSharedBytes = 48 * 1024;

  static int padded_maps(const ConvShape& shape) {
    return (shape.out_channels + kMaps - 1) / kMaps * kMaps;
  }

  // Space for the weights of the largest row: 9 for 7.
  void prepare() override {
    transformed_ =
        convlab::DeviceBuffer<float>(std::int64_t{2} * padded_maps(shape()) * shape().taps());
  }

  void release() override { transformed_ = {}; }

  template <int KernelSize>
  bool launched(float* output, const float* input, const float* weights, const ConvShape& shape) {
    const std::size_t bytes =
        sizeof(float4) * shape.in_channels * KernelSize * Row<KernelSize>::kWeights;
    if (shape.kernel != KernelSize || shape.stride != 1 || bytes > kMostSharedBytes) return false;
    const int rows = padded_maps(shape) * shape.in_channels * KernelSize;
    const int transform_grid = (rows + kThreads - 1) / kThreads;
    transform_weights<KernelSize>
        <<<transform_grid, kThreads>>>(transformed_.data(), weights, shape, padded_maps(shape));
    CONVLAB_CUDA_CHECK_LAUNCH(transform_grid, kThreads, 0);
    const std::int64_t positions = std::int64_t{shape.batch} *
                                   ((shape.out_height() + kRows - 1) / kRows) *
                                   ((shape.out_width() + 1) / 2);
    const dim3 grid(static_cast<unsigned>((positions + kThreads - 1) / kThreads),
                    padded_maps(shape) / kMaps);
    const auto kernel =
        shape.width % 2 == 0 ? conv_forward<KernelSize, true> : conv_forward<KernelSize, false>;
    kernel<<<grid, kThreads, bytes>>>(output, input, transformed_.data(), shape);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, kThreads, bytes);
    return true;
  }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    if (launched<7>(output, input, weights, shape)) return;
    if (launched<5>(output, input, weights, shape)) return;
    if (launched<3>(output, input, weights, shape)) return;
    convlab::convolve_any_shape(output, input, weights, shape);
  }

  convlab::DeviceBuffer<float> transformed_;
};

const convlab::LadderStage<Winograd> stage("winograd",
                                           "Winograd: 10 multiplications instead of 14");

}  // namespace
