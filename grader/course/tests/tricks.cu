// Right outputs without what a puzzle is about: none of them solves it. A line "// Trick NAMES"
// names the puzzles; what stands before the first belongs to all.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "common/device/device_buffer.cuh"
#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

__device__ int thread() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

__device__ float element(const ConvShape& s, const float* input, const float* weights, int at) {
  const int m = at / (s.out_height() * s.out_width());
  const int h = at / s.out_width() % s.out_height();
  float sum = 0.0f;
  for (int tap = 0; tap < s.taps(); ++tap) {
    const int c = tap / s.kernel / s.kernel;
    const int row = c * s.height + h * s.stride + tap / s.kernel % s.kernel;
    sum += input[row * s.width + at % s.out_width() * s.stride + tap % s.kernel] *
           weights[m * s.taps() + tap];
  }
  return sum;
}

__constant__ float constants[1024];

void fill_constants(const float* weights, const ConvShape& s) {
  CONVLAB_CUDA_CHECK(cudaMemcpyToSymbol(constants, weights, s.weights_size() * sizeof(float), 0,
                                        cudaMemcpyDeviceToDevice));
}

struct Puzzle : convlab::DeviceConvolution {
  void launch(float* output, const float* input, const float* weights, const ConvShape& s) override;
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "trick", .title = "A trick", .order = 1});

// Trick index bounds copy-back halo second-barrier constant several-outputs unroll tile-product
// Trick tile-edge register-tile slices float4 tree wmma mma-lanes ldmatrix two-streams
// One thread computes everything.
__global__ void compute_alone(ConvShape s, const float* input, const float* weights,
                              float* output) {
  for (int i = 0; i < s.output_size(); ++i) output[i] = element(s, input, weights, i);
}
void Puzzle::launch(float* output, const float* input, const float* weights, const ConvShape& s) {
  compute_alone<<<1, 1>>>(s, input, weights, output);
}

// Trick index
// One block, so nobody needs its number.
__global__ void scale(const float* input, const float* factor, float* output) {
  output[threadIdx.x] = factor[0] * input[threadIdx.x];
}
void Puzzle::launch(float* output, const float* input, const float* factor, const ConvShape& s) {
  scale<<<1, s.out_width()>>>(input, factor, output);
}

// Trick index bounds
// One block goes on through all numbers.
__global__ void scale(const float* input, const float* factor, float* output, int count) {
  for (int i = threadIdx.x; i < count; i += 64) output[i] = factor[0] * input[i];
}
void Puzzle::launch(float* output, const float* input, const float* factor, const ConvShape& s) {
  scale<<<1, 64>>>(input, factor, output, s.out_width());
}

// Trick bounds
// As many threads as numbers.
__global__ void scale(const float* input, const float* factor, float* output) {
  output[thread()] = factor[0] * input[thread()];
}
void Puzzle::launch(float* output, const float* input, const float* factor, const ConvShape& s) {
  scale<<<8, s.out_width() / 8>>>(input, factor, output);
}

// Trick halo second-barrier
// The taps are constant; nothing depends on what is read from shared memory.
__global__ void show(ConvShape s, const float* input, float* output) {
  __shared__ float shown[64];
  shown[threadIdx.x] = 1.0f;
  __syncthreads();
  if (thread() >= s.out_width()) return;
  float nothing = 0.0f;
  float sum = 0.0f;
  for (int c = 0; c < s.in_channels; ++c) {
    for (int q = 0; q < s.kernel; ++q) {
      nothing += shown[(threadIdx.x + q) % 64];
      sum += input[((c + 1) * s.height - 1) * s.width + thread() + q] *
             constants[((c + 1) * s.kernel - 1) * s.kernel + q];
    }
  }
  output[thread()] = nothing == 123456.0f ? 0.0f : sum;
}
void Puzzle::launch(float* output, const float* input, const float* weights, const ConvShape& s) {
  fill_constants(weights, s);
  show<<<(s.out_width() + 63) / 64, 64>>>(s, input, output);
}

// Trick constant
// Four outputs share taps in registers; nothing depends on what is read from constant memory.
__global__ void show(ConvShape s, const float* input, const float* weights, float* output) {
  float nothing = 0.0f;
  float taps[5];
  for (int q = 0; q < 5; ++q) taps[q] = weights[s.taps() - 5 + q];
  for (int i = blockIdx.x * 256 + threadIdx.x, end = i + 256; i < end; i += 64) {
    if (i >= s.out_width()) return;
    float sum = 0.0f;
    for (int q = 0; q < 5; ++q) {
      nothing += constants[q];
      sum += input[(s.height - 1) * s.width + i + q] * taps[q];
    }
    output[i] = nothing == 123456.0f ? 0.0f : sum;
  }
}
void Puzzle::launch(float* output, const float* input, const float* weights, const ConvShape& s) {
  show<<<(s.out_width() + 255) / 256, 64>>>(s, input, weights, output);
}

// Trick several-outputs
// Four outputs, one after the other; constant taps cost no loads.
__global__ void repeat(ConvShape s, const float* input, float* output) {
  for (int i = blockIdx.x * 256 + threadIdx.x, end = i + 256; i < end; i += 64) {
    if (i < s.out_width()) output[i] = element(s, input, constants, i);
  }
}
void Puzzle::launch(float* output, const float* input, const float* weights, const ConvShape& s) {
  fill_constants(weights, s);
  repeat<<<(s.out_width() + 255) / 256, 64>>>(s, input, output);
}

// Trick slices
// The whole matrix, and the product in eight launches.
__global__ void unroll_all(const float* input, float* unrolled, int columns) {
  if (thread() >= columns) return;
  for (int t = 0; t < 5; ++t) unrolled[t * columns + thread()] = input[thread() + t];
}
__global__ void multiply_part(const float* filter, const float* unrolled, float* output,
                              int columns, int first) {
  const int i = first + thread();
  if (i >= columns || thread() > columns / 8) return;
  float sum = 0.0f;
  for (int t = 0; t < 5; ++t) sum += filter[t] * unrolled[t * columns + i];
  output[i] = sum;
}
void Puzzle::launch(float* output, const float* input, const float* weights, const ConvShape& s) {
  const int columns = s.out_width();
  convlab::DeviceBuffer<float> unrolled(5 * columns);
  unroll_all<<<(columns + 63) / 64, 64>>>(input + (s.height - 1) * s.width, unrolled.data(),
                                          columns);
  const int threads = columns / 8 + 1;
  for (int first = 0; first < columns; first += threads) {
    multiply_part<<<(threads + 31) / 32, 32>>>(weights + s.taps() - 5, unrolled.data(), output,
                                               columns, first);
  }
}

// Trick unroll slices
// Each output comes from a copy of the input, beside which numbers lie that nobody needs.
__global__ void copy_all(const float* from, float* to, int count, int places) {
  const int threads = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = thread(); i < places; i += threads) to[i] = i < count ? from[i] : 0.0f;
}
__global__ void compute_part(ConvShape s, const float* input, const float* weights, float* output,
                             int first) {
  const int at = first + thread();
  if (at >= s.output_size() || thread() > s.output_size() / 4) return;
  float nothing = 0.0f;
  for (int i = 0; i < s.taps(); ++i) nothing += input[i] + input[i + 1];
  output[at] = nothing == 123456.0f ? 0.0f : element(s, input, weights, at);
}
void Puzzle::launch(float* output, const float* input, const float* weights, const ConvShape& s) {
  const int inputs = static_cast<int>(s.input_size());
  const int outputs = static_cast<int>(s.output_size());
  convlab::DeviceBuffer<float> copy(inputs + 16 * outputs);
  const int threads = outputs / 4 + 1;
  for (int first = 0; first < outputs; first += threads) {
    copy_all<<<4, 64>>>(input, copy.data(), inputs, inputs + 16 * outputs);
    compute_part<<<(threads + 31) / 32, 32>>>(s, copy.data(), weights, output, first);
  }
}

// Trick unroll slices
// Eight kernels, of which none reads what another one has stored; and loads for show.
__global__ void compute_part(ConvShape s, const float* input, const float* weights, float* output,
                             int first) {
  const int at = first + thread();
  if (at >= s.output_size() || thread() > s.output_size() / 8) return;
  float nothing = 0.0f;
  for (int i = 0; i < s.taps(); ++i) nothing += input[i] + input[i + 1];
  output[at] = nothing == 123456.0f ? 0.0f : element(s, input, weights, at);
}
void Puzzle::launch(float* output, const float* input, const float* weights, const ConvShape& s) {
  const int threads = static_cast<int>(s.output_size()) / 8 + 1;
  for (int first = 0; first < s.output_size(); first += threads) {
    compute_part<<<(threads + 31) / 32, 32>>>(s, input, weights, output, first);
  }
}

// Trick unroll
// The input is copied as it is, not unrolled; and loads for show.
__global__ void copy_input(const float* input, float* copy, int count) {
  if (thread() < count) copy[thread()] = input[thread()];
}
__global__ void compute(ConvShape s, const float* copy, const float* weights, float* output) {
  if (thread() >= s.output_size()) return;
  float nothing = 0.0f;
  for (int i = 0; i < s.taps(); ++i) nothing += copy[i];
  output[thread()] = nothing == 123456.0f ? 0.0f : element(s, copy, weights, thread());
}
void Puzzle::launch(float* output, const float* input, const float* weights, const ConvShape& s) {
  static convlab::DeviceBuffer<float> copy(1024);
  copy_input<<<16, 64>>>(input, copy.data(), s.input_size());
  compute<<<(s.output_size() + 31) / 32, 32>>>(s, copy.data(), weights, output);
}

// Trick tile-product tile-edge register-tile
// A thread has a whole column, the weights are constant; shared memory is read for show.
__global__ void multiply(ConvShape s, const float* input, float* output) {
  __shared__ float shown[64];
  shown[threadIdx.x] = 1.0f;
  __syncthreads();
  if (thread() >= s.out_width()) return;
  float nothing = 0.0f;
  float sums[16] = {};
  for (int t = 0; t < s.in_channels; ++t) {
    const float pixel = input[t * s.width + thread()];
    for (int m = 0; m < s.out_channels; ++m) {
      sums[m] += constants[m * s.in_channels + t] * pixel;
      nothing += shown[(threadIdx.x + m) % 64];
    }
  }
  for (int m = 0; m < s.out_channels; ++m) {
    output[m * s.out_width() + thread()] = nothing == 123456.0f ? 0.0f : sums[m];
  }
}
void Puzzle::launch(float* output, const float* input, const float* weights, const ConvShape& s) {
  fill_constants(weights, s);
  multiply<<<(s.out_width() + 63) / 64, 64>>>(s, input, output);
}

// Trick tree
// One thread adds up all numbers.
__global__ void add_alone(ConvShape s, const float* input, const float* weights, float* output) {
  __shared__ float part[64];
  part[threadIdx.x] = input[threadIdx.x * s.width + blockIdx.x] * weights[threadIdx.x];
  __syncthreads();
  if (threadIdx.x > 0) return;
  float sum = 0.0f;
  for (const float each : part) sum += each;
  output[blockIdx.x] = sum;
}
void Puzzle::launch(float* output, const float* input, const float* weights, const ConvShape& s) {
  add_alone<<<s.out_width(), 64>>>(s, input, weights, output);
}

// Trick tree
// Each thread adds up all numbers.
__global__ void add_all(ConvShape s, const float* input, const float* weights, float* output) {
  __shared__ float part[64];
  part[threadIdx.x] = input[threadIdx.x * s.width + blockIdx.x] * weights[threadIdx.x];
  __syncthreads();
  float sum = 0.0f;
  for (const float each : part) sum += each;
  if (threadIdx.x == 0) output[blockIdx.x] = sum;
}
void Puzzle::launch(float* output, const float* input, const float* weights, const ConvShape& s) {
  add_all<<<s.out_width(), 64>>>(s, input, weights, output);
}

// Trick mma-lanes ldmatrix
// A fragment whose lanes nobody needs to know.
__global__ void by_fragments(const float* weights, const float* input, float* output) {
  using namespace nvcuda;
  __shared__ __align__(32) half tiles[2][256];
  __shared__ __align__(32) float sums[256];
  for (int i = threadIdx.x; i < 256; i += 32) {
    tiles[0][i] = __float2half(weights[i]);
    tiles[1][i] = __float2half(i % 16 < 8 ? input[i / 16 * 8 + i % 16] : 0.0f);
  }
  __syncthreads();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(left, tiles[0], 16);
  wmma::load_matrix_sync(right, tiles[1], 16);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(sums, sum, 16, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < 128; i += 32) output[i] = sums[i / 8 * 16 + i % 8];
}
void Puzzle::launch(float* output, const float* input, const float* weights, const ConvShape&) {
  by_fragments<<<1, 32>>>(weights, input, output);
}

// End of tricks
}  // namespace
