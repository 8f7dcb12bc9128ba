// Tensor cores, TF32.
//
// Idea     TF32 keeps the range of a float and 10 bits of its fraction. A tensor core takes it at
//          half the rate of half precision, 8 deep instead of 16: 16×16×8. Two operations of depth
//          8 do what one of depth 16 does in tensor-cores-fp16, and they need no input twice: the
//          window of 16 columns is two chunks of 8, and the second chunk of a window is the first
//          one of its neighbour.
// Picture  one row p of the kernel and one channel, K = 7; chunk i holds columns 8·i to 8·i + 7:
//
//              weights, 8 rows for each map
//              w0 w1 w2 w3 w4 w5 w6 0        0  0  0  0  0  0 0 0
//              0  w0 w1 w2 w3 w4 w5 w6       0  0  0  0  0  0 0 0
//              …                        ×    …                       ×
//              0  0  0  0  0  0  0  w0       w1 w2 w3 w4 w5 w6 0 0
//                  chunk 0, chunk 1, …  +        chunk 1, chunk 2, …
//
// Cost     no conversion to another size, one store for an input; twice the bytes of halves in
//          shared memory and in fragments, and half the rate. A row has one chunk more than
//          groups of outputs, and that one is multiplied, too: 1/11 of the work at 80 columns,
//          1/6 at 34.
// Expect   slower than half precision where products limit, the same where memory does. Range and
//          therefore safety of single precision: nothing overflows.
// Run      build/bin/m4 1000 --stage tensor-cores-tf32 --solution reference

#include <cuda_runtime.h>
#include <mma.h>

#include <cstdint>

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m4_optimizations/any_shape_product.cuh"
#include "reference/solutions/m4_optimizations/strips.cuh"

namespace {

using convlab::ConvShape;
using convlab::tensor_cores::kGroupColumns;
using convlab::tensor_cores::Strips;
using convlab::tensor_cores::Tf32Operand;
using namespace nvcuda;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kTile = 16;   // rows and columns of one operation
constexpr int kDepth = 8;   // of one operation: a chunk
constexpr int kChunks = 2;  // that a window consists of
constexpr int kMapsPerTile = kTile / kGroupColumns;
constexpr int kMatrix = kTile * kDepth;

// A warp computes MapTiles × WindowTiles products of 16×16 at a time.
template <int MapTiles, int WindowTiles>
struct Shared {
  static std::int64_t fixed_bytes(const ConvShape& shape) {
    const std::int64_t weights =
        std::int64_t{shape.in_channels} * shape.kernel * kChunks * MapTiles * kMatrix;
    // Tiles at the end of the last channel may read past it.
    const std::int64_t padding = (WindowTiles * kTile + 1) * kDepth;
    return sizeof(float) * (weights + padding + kWarps * kTile * kTile);
  }
  static std::int64_t row_bytes(const ConvShape& shape) {
    const int groups = (shape.out_width() + kGroupColumns - 1) / kGroupColumns;
    return std::int64_t{shape.in_channels} * (groups + 1) * kDepth * sizeof(float);
  }
};

// matrices (channels, kernel, 2 chunks, maps · 8, 8): row m·8 + j holds a kernel row, moved j to
// the right.
__device__ void spread_weights(float* matrices, const float* weights, const ConvShape& shape,
                               int first_map, int rows) {
  const int count = shape.in_channels * shape.kernel * kChunks * rows * kDepth;
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const int row = i / kDepth % rows;
    const int chunk = i / kDepth / rows % kChunks;
    const int channel_row = i / kDepth / rows / kChunks;  // c · kernel + p
    const int map = first_map + row / kGroupColumns;
    const int q = chunk * kDepth + i % kDepth - row % kGroupColumns;
    const bool real = map < shape.out_channels && q >= 0 && q < shape.kernel;
    matrices[i] = Tf32Operand::rounded(
        real ? weights[(map * shape.in_channels * shape.kernel + channel_row) * shape.kernel + q]
             : 0.0f);
  }
}

// chunks (channels, input_rows, groups + 1, 8)
__device__ void load_chunks(float* chunks, const float* image, const ConvShape& shape,
                            int first_row, int input_rows, int pitch) {
  constexpr int kPairs = kDepth / 2;
  convlab::tensor_cores::load_strip<kThreads>(
      image, shape, first_row, input_rows, pitch * kPairs, [=](const auto& at, float2 pair) {
        float* chunk = chunks + ((at.channel * input_rows + at.y) * pitch + at.x / kPairs) * kDepth;
        *reinterpret_cast<float2*>(chunk + at.x % kPairs * 2) =
            make_float2(Tf32Operand::rounded(pair.x), Tf32Operand::rounded(pair.y));
      });
}

// Fragments come from shared memory, rows of 8 floats. With wmma::load_matrix_sync the compiler
// does not find out that a pointer to floats for TF32 is one to shared memory, and loads through
// addresses that may lie anywhere: 4.19 ms for the second layer on an H200. The same instruction
// with `.shared` takes 2.94 ms.
template <class Fragment>
__device__ void load_left(Fragment& fragment, const float* from) {
#if !CONVLAB_EMULATED && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  unsigned bits[4];
  asm volatile("wmma.load.a.sync.aligned.row.m16n16k8.shared.tf32 {%0, %1, %2, %3}, [%4], 8;"
               : "=r"(bits[0]), "=r"(bits[1]), "=r"(bits[2]), "=r"(bits[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from)))
               : "memory");
  for (int i = 0; i < 4; ++i) fragment.x[i] = __uint_as_float(bits[i]);
#else
  wmma::load_matrix_sync(fragment, from, kDepth);
#endif
}

template <class Fragment>
__device__ void load_right(Fragment& fragment, const float* from) {
#if !CONVLAB_EMULATED && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  unsigned bits[4];
  asm volatile("wmma.load.b.sync.aligned.col.m16n16k8.shared.tf32 {%0, %1, %2, %3}, [%4], 8;"
               : "=r"(bits[0]), "=r"(bits[1]), "=r"(bits[2]), "=r"(bits[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from)))
               : "memory");
  for (int i = 0; i < 4; ++i) fragment.x[i] = __uint_as_float(bits[i]);
#else
  wmma::load_matrix_sync(fragment, from, kDepth);
#endif
}

template <class Operand, int MapTiles, int WindowTiles>
__device__ void convolve_strips(float* __restrict__ output, const float* __restrict__ input,
                                const float* __restrict__ weights, const ConvShape& shape,
                                const Strips& strips) {
  using Precision = typename Operand::Fragment;
  constexpr int kUnit = WindowTiles * kTile;
  const int pitch = strips.groups + 1;  // chunks of a row
  const convlab::tensor_cores::Divider by_pitch(pitch);
  const int input_rows = strips.rows + shape.kernel - 1;
  extern __shared__ __align__(32) char shared[];
  float* scratch = reinterpret_cast<float*>(shared);  // (kWarps, 16 windows, 16 rows)
  float* matrices = scratch + kWarps * kTile * kTile;
  // (channels, kernel, kChunks, MapTiles · 16, 8)
  float* chunks = matrices + shape.in_channels * shape.kernel * kChunks * MapTiles * kMatrix;
  // (channels, input_rows, pitch, 8)
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int first_map = blockIdx.y * MapTiles * kMapsPerTile;
  const int pixels = shape.out_height() * shape.out_width();
  float* mine = scratch + warp * kTile * kTile;
  spread_weights(matrices, weights, shape, first_map, MapTiles * kTile);

  const std::int64_t work = std::int64_t{shape.batch} * strips.count;
  for (std::int64_t item = blockIdx.x; item < work; item += gridDim.x) {
    const std::int64_t image = item / strips.count;
    const int first_row = item % strips.count * strips.rows;
    __syncthreads();  // the strip before has been read
    load_chunks(chunks, input + image * shape.input_image_size(), shape, first_row, input_rows,
                pitch);
    __syncthreads();  // this strip is complete
    const int rows = min(strips.rows, shape.out_height() - first_row);

    for (int first = warp * kUnit; first < rows * pitch - 1; first += kWarps * kUnit) {
      wmma::fragment<wmma::accumulator, kTile, kTile, kDepth, float> sum[MapTiles][WindowTiles];
#pragma unroll
      for (int m = 0; m < MapTiles; ++m) {
#pragma unroll
        for (int n = 0; n < WindowTiles; ++n) wmma::fill_fragment(sum[m][n], 0.0f);
      }
      const float* matrix = matrices;
      for (int c = 0; c < shape.in_channels; ++c) {
        const float* chunk = chunks + (c * input_rows * pitch + first) * kDepth;
        for (int p = 0; p < shape.kernel; ++p) {
#pragma unroll
          for (int part = 0; part < kChunks; ++part) {
            wmma::fragment<wmma::matrix_b, kTile, kTile, kDepth, Precision, wmma::col_major>
                right[WindowTiles];
#pragma unroll
            for (int n = 0; n < WindowTiles; ++n) {
              load_right(right[n], chunk + (n * kTile + part) * kDepth);
            }
#pragma unroll
            for (int m = 0; m < MapTiles; ++m) {
              wmma::fragment<wmma::matrix_a, kTile, kTile, kDepth, Precision, wmma::row_major> left;
              load_left(left, matrix + m * kMatrix);
#pragma unroll
              for (int n = 0; n < WindowTiles; ++n) {
                wmma::mma_sync(sum[m][n], left, right[n], sum[m][n]);
              }
            }
            matrix += MapTiles * kMatrix;
          }
          chunk += pitch * kDepth;  // the same outputs' next input row
        }
      }

      // The sums go out as in tensor-cores-fp16. The last chunk of a row is no group of outputs.
#pragma unroll
      for (int n = 0; n < WindowTiles; ++n) {
        constexpr int kSteps = kTile / (32 / kGroupColumns);
        int place[kSteps];  // in the output map; -1: outside
#pragma unroll
        for (int i = 0; i < kSteps; ++i) {
          const int window = first + n * kTile + i * (32 / kGroupColumns) + lane / kGroupColumns;
          const int h = by_pitch.quotient(window);
          const int w = by_pitch.remainder(window) * kGroupColumns + lane % kGroupColumns;
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

template <int MapTiles, int WindowTiles>
__global__ void __launch_bounds__(kThreads, 2)
    conv_forward(float* __restrict__ output, const float* __restrict__ input,
                 const float* __restrict__ weights, ConvShape shape, Strips strips) {
  if constexpr (Tf32Operand::kAvailable) {
    convolve_strips<Tf32Operand, MapTiles, WindowTiles>(output, input, weights, shape, strips);
  }
}

class TensorCoresTf32 final : public convlab::DeviceConvolution {
  static constexpr int kMapTiles =
      2;  // 4 maps in a block: the weights take twice the room of halves
  static constexpr int kWindowTiles = 4;

  void prepare() override {
    using Memory = Shared<kMapTiles, kWindowTiles>;
    strips_ = {};
    if (!convlab::tensor_cores::windows_cover(shape())) return;
    constexpr int kMaps = kMapTiles * kMapsPerTile;
    const int map_blocks = (shape().out_channels + kMaps - 1) / kMaps;
    strips_ = convlab::tensor_cores::cut_into_strips(shape(), Memory::fixed_bytes(shape()),
                                                     Memory::row_bytes(shape()), map_blocks);
    if (!strips_.fit()) return;
    bytes_ = Memory::fixed_bytes(shape()) +
             Memory::row_bytes(shape()) * (strips_.rows + shape().kernel - 1);
    grid_ = convlab::tensor_cores::resident_grid(
        conv_forward<kMapTiles, kWindowTiles>, kThreads, bytes_,
        std::int64_t{shape().batch} * strips_.count, map_blocks);
  }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    if (!strips_.fit()) {
      convlab::tensor_cores::launch_any_shape<Tf32Operand, 16, 16>(output, input, weights, shape);
      return;
    }
    conv_forward<kMapTiles, kWindowTiles>
        <<<grid_, kThreads, bytes_>>>(output, input, weights, shape, strips_);
    CONVLAB_CUDA_CHECK_LAUNCH(grid_, kThreads, bytes_);
  }

  Strips strips_;
  std::int64_t bytes_ = 0;
  dim3 grid_;
};

const convlab::ConvolutionStage<TensorCoresTf32> stage({
    .id = "tensor-cores-tf32",
    .title = "Tensor cores (WMMA), TF32",
    .baseline = "fused-gemm",
    .order = 131,
    .precision = convlab::Precision::kTf32,
    .needs = {8, 0},
});

}  // namespace
