// Puzzle 8 of 11: one product on a tensor core. About five lines.
//
// A tensor core multiplies two matrices of 16 × 16 halves and adds in single precision, in one
// operation of a whole warp. Each thread holds a part of each matrix; together the parts are a
// *fragment*. There is one call for each step:
//
//     wmma::fill_fragment(sum, 0.0f);
//     wmma::load_matrix_sync(fragment, pointer, distance);     from row to row, in elements
//     wmma::mma_sync(sum, left, right, sum);                   sum = left · right + sum
//     wmma::store_matrix_sync(pointer, sum, distance, wmma::mem_row_major);
//
// All 32 threads make each call together. The two tiles are already in shared memory, as halves.
// Their rows are 24 halves apart and not 16, so that the rows begin in different banks.
//
// Check it with   build/bin/grader check m4 --stage wmma
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "common/stage/device_convolution.cuh"

namespace {

using namespace nvcuda;

constexpr int kTile = 16;
constexpr int kRow = 24;  // from the beginning of a row of a tile to the next

/// output = weights × input, all 16 × 16 and row-major; one warp.
__global__ void multiply(const float* weights, const float* input, float* output) {
  __shared__ __align__(32) half weight_tile[kTile * kRow];
  __shared__ __align__(32) half input_tile[kTile * kRow];
  for (int i = threadIdx.x; i < kTile * kTile; i += 32) {
    weight_tile[i / kTile * kRow + i % kTile] = __float2half(weights[i]);
    input_tile[i / kTile * kRow + i % kTile] = __float2half(input[i]);
  }
  __syncthreads();
  wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, half, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float> sum;
  // Clear the sums, load both tiles, multiply, and store the sums in `output`.
}

class Puzzle final : public convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights,
              const convlab::ConvShape& shape) override {
    multiply<<<1, 32>>>(weights, input, output);
    CONVLAB_CUDA_CHECK_LAUNCH(1, 32, 0);
  }
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "wmma",
                                               .title = "One product on a tensor core",
                                               .order = 8});

}  // namespace
