// Tensor cores by their own instructions: registers instead of fragments.
//
// Idea     WMMA hides which thread holds which element. So operands must lie in shared memory with
//          a fixed distance between rows, tensor-cores-fp16 stores every input twice, and sums must
//          pass through shared memory. The instructions below WMMA define where each element lies.
//          ldmatrix takes an address for each row of 8 halves, so neighbouring windows may overlap.
//          The sums lie in registers in an order that can be stored directly.
// Picture  chunk i holds columns 8·i to 8·i + 7 of an input row; window g is chunks g and g + 1:
//
//              windows as rows (16 × 16)   one map's weights (16 × 8), column j is shifted by j
//              chunk 0 | chunk 1               w0 0  …  0
//              chunk 1 | chunk 2           ×   w1 w0 …  0      =   sums of 16 windows × 8 columns
//              chunk 2 | chunk 3               …
//              …                               0  0  …  w6
//
//          Lane 4·r + t holds columns 2·t and 2·t + 1 of windows r and r + 8: four lanes write the
//          8 outputs of a window, the next four those of its neighbour, in all 256 neighbouring
//          bytes.
// Cost     shared memory: one store for an input, and for 16 operations six ldmatrix of 512 bytes
//          without bank conflicts. The rows of the weights have 32 bytes, so rows four apart would
//          use the same banks. To avoid that, the halves of rows 4 to 7 change places.
// Expect   convolution 2: two thirds of the time of tensor-cores-fp16 or less; convolution 1:
//          nearer to the memory bound.
// Run      build/bin/m4 1000 --stage mma-ptx --solution reference

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "reference/solutions/m4_optimizations/any_shape_product.cuh"
#include "reference/solutions/m4_optimizations/strips.cuh"

namespace {

using convlab::ConvShape;
using convlab::tensor_cores::kGroupColumns;
using convlab::tensor_cores::kThreads;
using convlab::tensor_cores::kWarps;
using convlab::tensor_cores::kWindowColumns;
using convlab::tensor_cores::Strips;

constexpr int kBlocks = 2;         // on a multiprocessor
constexpr int kTileWindows = 16;   // rows of one operation
constexpr int kChunkBytes = 16;    // 8 halves: a row for ldmatrix
constexpr int kMatrixBytes = 256;  // weights of one map, channel and kernel row: 8 × 16 halves

/// Four 8×8 matrices; lane i passes the address of row i % 8 of matrix i / 8.
__device__ void load_matrices(unsigned (&to)[4], unsigned row_address) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(row_address));
#endif
}

/// sum (16 × 8) += windows (16 × 16) · weights (16 × 8)
__device__ void multiply_add(float (&sum)[4], const unsigned (&windows)[4], unsigned weights_low,
                             unsigned weights_high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(windows[0]), "r"(windows[1]), "r"(windows[2]), "r"(windows[3]), "r"(weights_low),
        "r"(weights_high));
#endif
}

// matrices (channels, kernel, Maps, 8 columns j, 16): a kernel row, shifted by j. In columns 4 to 7
// the two halves of 8 elements have changed places.
__device__ void spread_weights(half* matrices, const float* weights, const ConvShape& shape,
                               int first_map, int maps) {
  const int count = shape.in_channels * shape.kernel * maps * kMatrixBytes / int{sizeof(half)};
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const int j = i / kWindowColumns % kGroupColumns;
    const int place = i % kWindowColumns;
    const int k = j < 4 ? place : place ^ kGroupColumns;
    const int map_index = i / kWindowColumns / kGroupColumns;
    const int map = first_map + map_index % maps;
    const int channel_row = map_index / maps;  // c · kernel + p
    const int q = k - j;
    const bool real = map < shape.out_channels && q >= 0 && q < shape.kernel;
    matrices[i] = __float2half(
        real ? weights[(map * shape.in_channels * shape.kernel + channel_row) * shape.kernel + q]
             : 0.0f);
  }
}

// A warp computes Tiles · 16 windows × Maps maps at a time.
template <int Tiles, int Maps>
__global__ void __launch_bounds__(kThreads, kBlocks)
    conv_forward(float* __restrict__ output, const float* __restrict__ input,
                 const float* __restrict__ weights, ConvShape shape, Strips strips) {
  static_assert(Maps % 2 == 0, "one ldmatrix loads the weights of two maps");
  constexpr int kUnit = Tiles * kTileWindows;
  const int groups = strips.groups;
  const convlab::tensor_cores::Divider by_groups(groups);
  const int pitch = groups + 1;  // chunks of a row
  const int input_rows = strips.rows + shape.kernel - 1;
  extern __shared__ __align__(16) char shared[];
  half* matrices = reinterpret_cast<half*>(shared);
  const int matrix_count = shape.in_channels * shape.kernel * Maps;
  half2* chunk_pairs = reinterpret_cast<half2*>(shared + matrix_count * kMatrixBytes);
  const int row_pairs = pitch * kGroupColumns / 2;
  const int lane = threadIdx.x % 32;
  const int first_map = blockIdx.y * Maps;
  const int pixels = shape.out_height() * shape.out_width();
  const bool even = shape.out_width() % 2 == 0;  // then pairs of outputs are aligned
  spread_weights(matrices, weights, shape, first_map, Maps);

  // The address of this lane's row of four matrices. Weights: two maps of 8 columns in two halves.
  const int column = lane % 8;
  const int half_window = lane / 8 % 2;
  const unsigned matrix_row = static_cast<unsigned>(__cvta_generic_to_shared(matrices)) +
                              lane / 16 * kMatrixBytes + column * 2 * kChunkBytes +
                              (column < 4 ? half_window : 1 - half_window) * kChunkBytes;
  const unsigned chunk_begin = static_cast<unsigned>(__cvta_generic_to_shared(chunk_pairs));

  const std::int64_t work = std::int64_t{shape.batch} * strips.count;
  for (std::int64_t item = blockIdx.x; item < work; item += gridDim.x) {
    const std::int64_t image = item / strips.count;
    const int first_row = item % strips.count * strips.rows;
    __syncthreads();  // all warps have read the strip before
    // chunks (channels, input_rows, pitch, 8)
    convlab::tensor_cores::load_strip<kThreads>(
        input + image * shape.input_image_size(), shape, first_row, input_rows, row_pairs,
        [=](const auto& at, float2 pair) {
          chunk_pairs[(at.channel * input_rows + at.y) * row_pairs + at.x] =
              __floats2half2_rn(pair.x, pair.y);
        });
    __syncthreads();  // this strip is complete
    const int windows = min(strips.rows, shape.out_height() - first_row) * groups;

    for (int first = threadIdx.x / 32 * kUnit; first < windows; first += kWarps * kUnit) {
      // Windows: rows 0 to 7 and 8 to 15 of the left half, then of the right one.
      unsigned window_row[Tiles];
#pragma unroll
      for (int t = 0; t < Tiles; ++t) {
        const int window = min(first + t * kTileWindows + lane % 16, windows - 1);
        window_row[t] = chunk_begin + (by_groups.quotient(window) * pitch +
                                       by_groups.remainder(window) + lane / 16) *
                                          kChunkBytes;
      }
      float sum[Tiles][Maps][4] = {};
      unsigned weight_row = matrix_row;
      for (int c = 0; c < shape.in_channels; ++c) {
        for (int p = 0; p < shape.kernel; ++p) {
          const unsigned down = (c * input_rows + p) * pitch * kChunkBytes;
          unsigned window[Tiles][4];
#pragma unroll
          for (int t = 0; t < Tiles; ++t) load_matrices(window[t], window_row[t] + down);
#pragma unroll
          for (int m = 0; m < Maps; m += 2) {
            unsigned weight[4];  // map m left and right half, map m + 1
            load_matrices(weight, weight_row + m * kMatrixBytes);
#pragma unroll
            for (int t = 0; t < Tiles; ++t) {
              multiply_add(sum[t][m], window[t], weight[0], weight[1]);
              multiply_add(sum[t][m + 1], window[t], weight[2], weight[3]);
            }
          }
          weight_row += Maps * kMatrixBytes;
        }
      }

#pragma unroll
      for (int t = 0; t < Tiles; ++t) {
#pragma unroll
        for (int upper = 0; upper < 2; ++upper) {  // sums 0, 1: window lane / 4; 2, 3: 8 further
          const int window = first + t * kTileWindows + upper * 8 + lane / 4;
          const int h = by_groups.quotient(window);
          const int w = by_groups.remainder(window) * kGroupColumns + lane % 4 * 2;
          if (window >= windows || w >= shape.out_width()) continue;
          float* to = output + (image * shape.out_channels + first_map) * pixels +
                      (first_row + h) * shape.out_width() + w;
#pragma unroll
          for (int m = 0; m < Maps; ++m) {
            if (first_map + m >= shape.out_channels) break;
            const float left = sum[t][m][2 * upper];
            const float right = sum[t][m][2 * upper + 1];
            if (even) {
              *reinterpret_cast<float2*>(to) = make_float2(left, right);
            } else {
              to[0] = left;
              if (w + 1 < shape.out_width()) to[1] = right;
            }
            to += pixels;
          }
        }
      }
    }
  }
}

class MmaPtx final : public convlab::tensor_cores::StripConvolution {
  void choose() override {
    // 8 maps in a block if that leaves room for the input, otherwise 4.
    if (shape().out_channels <= 4 || !plan_maps<8>()) plan_maps<4>();
  }

  template <int Maps>
  bool plan_maps() {
    const int groups = (shape().out_width() + kGroupColumns - 1) / kGroupColumns;
    const std::int64_t channels = shape().in_channels;
    return plan(conv_forward<2, Maps>, Maps, channels * shape().kernel * Maps * kMatrixBytes,
                channels * (groups + 1) * kChunkBytes);
  }

  void launch_product(float* output, const float* input, const float* weights,
                      const ConvShape& shape) override {
    using convlab::tensor_cores::HalfOperand;
    convlab::tensor_cores::launch_any_shape<HalfOperand, 16, 16>(output, input, weights, shape);
  }
};

const convlab::LadderStage<MmaPtx> stage("mma-ptx", "Tensor cores by PTX: mma.sync and ldmatrix");

}  // namespace
