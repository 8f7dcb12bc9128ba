#include "common/emulation/benchmarks/kernels.cuh"

#include <mma.h>

#include <stdexcept>
#include <string>

namespace {

constexpr int kTile = 16;

__global__ void naive(const float* input, const float* weights, float* output, int out_channels,
                      int in_channels, int height, int width, int kernel) {
  const int out_height = height - kernel + 1;
  const int out_width = width - kernel + 1;
  const int tiles = (out_width + kTile - 1) / kTile;
  const int m = static_cast<int>(blockIdx.x);
  const int h = static_cast<int>(blockIdx.y) / tiles * kTile + static_cast<int>(threadIdx.y);
  const int w = static_cast<int>(blockIdx.y) % tiles * kTile + static_cast<int>(threadIdx.x);
  const int b = static_cast<int>(blockIdx.z);
  if (h >= out_height || w >= out_width) return;
  float sum = 0;
  for (int c = 0; c < in_channels; ++c)
    for (int p = 0; p < kernel; ++p)
      for (int q = 0; q < kernel; ++q)
        sum += input[((b * in_channels + c) * height + h + p) * width + w + q] *
               weights[((m * in_channels + c) * kernel + p) * kernel + q];
  output[((b * out_channels + m) * out_height + h) * out_width + w] = sum;
}

__global__ void tiled(const float* input, const float* weights, float* output, int out_channels,
                      int in_channels, int height, int width, int kernel) {
  extern __shared__ float tile[];
  const int side = kTile + kernel - 1;
  const int out_height = height - kernel + 1;
  const int out_width = width - kernel + 1;
  const int tiles = (out_width + kTile - 1) / kTile;
  const int m = static_cast<int>(blockIdx.x);
  const int first_h = static_cast<int>(blockIdx.y) / tiles * kTile;
  const int first_w = static_cast<int>(blockIdx.y) % tiles * kTile;
  const int b = static_cast<int>(blockIdx.z);
  const int ty = static_cast<int>(threadIdx.y);
  const int tx = static_cast<int>(threadIdx.x);
  float sum = 0;
  for (int c = 0; c < in_channels; ++c) {
    for (int i = ty; i < side; i += kTile)
      for (int j = tx; j < side; j += kTile) {
        const int h = first_h + i;
        const int w = first_w + j;
        tile[i * side + j] =
            h < height && w < width ? input[((b * in_channels + c) * height + h) * width + w] : 0;
      }
    __syncthreads();
    for (int p = 0; p < kernel; ++p)
      for (int q = 0; q < kernel; ++q)
        sum += tile[(ty + p) * side + tx + q] *
               weights[((m * in_channels + c) * kernel + p) * kernel + q];
    __syncthreads();
  }
  const int h = first_h + ty;
  const int w = first_w + tx;
  if (h < out_height && w < out_width)
    output[((b * out_channels + m) * out_height + h) * out_width + w] = sum;
}

__global__ void barriers(int count) {
  for (int i = 0; i < count; ++i) __syncthreads();
}

__global__ void shuffles(int count) {
  int value = static_cast<int>(threadIdx.x);
  for (int i = 0; i < count; ++i) value = __shfl_xor_sync(0xffffffffU, value, 5);
  if (value < 0) printf("cannot happen\n");
}

__global__ void products(const half* a, const half* b, float* c, int count) {
  namespace wmma = nvcuda::wmma;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int i = 0; i < count; ++i) {
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

__global__ void empty() {}

void require(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

dim3 grid_of(const convlab::ConvShape& size) {
  const int tiles = ((size.out_width() + kTile - 1) / kTile) * ((size.out_height() + kTile - 1) / kTile);
  return dim3(static_cast<unsigned>(size.out_channels), static_cast<unsigned>(tiles),
              static_cast<unsigned>(size.batch));
}

}  // namespace

LiveMemory::LiveMemory(const std::vector<std::size_t>& bytes) {
  for (const std::size_t each : bytes) {
    require(cudaMalloc(&pieces_.emplace_back(nullptr), each));
    if (each > 0) require(cudaMemset(pieces_.back(), 0, each));
  }
}

LiveMemory::~LiveMemory() {
  for (void* piece : pieces_) cudaFree(piece);
}

EmulatedConvolution::EmulatedConvolution(const convlab::ConvShape& size)
    : size_(size),
      arrays_({static_cast<std::size_t>(size.input_size()) * sizeof(float),
               static_cast<std::size_t>(size.weights_size()) * sizeof(float),
               static_cast<std::size_t>(size.output_size()) * sizeof(float)}) {}

void EmulatedConvolution::run_naive() {
  naive<<<grid_of(size_), dim3(kTile, kTile)>>>(arrays_.piece<float>(0), arrays_.piece<float>(1),
                                                arrays_.piece<float>(2), size_.out_channels,
                                                size_.in_channels, size_.height, size_.width,
                                                size_.kernel);
  require(cudaDeviceSynchronize());
}

void EmulatedConvolution::run_tiled() {
  const int side = kTile + size_.kernel - 1;
  tiled<<<grid_of(size_), dim3(kTile, kTile), static_cast<std::size_t>(side * side) * sizeof(float)>>>(
      arrays_.piece<float>(0), arrays_.piece<float>(1), arrays_.piece<float>(2), size_.out_channels,
      size_.in_channels, size_.height, size_.width, size_.kernel);
  require(cudaDeviceSynchronize());
}

void run_barriers(int blocks, int count) {
  barriers<<<blocks, 256>>>(count);
  require(cudaDeviceSynchronize());
}

void run_shuffles(int blocks, int count) {
  shuffles<<<blocks, 256>>>(count);
  require(cudaDeviceSynchronize());
}

void run_products(int blocks, int count) {
  const LiveMemory memory({256 * sizeof(half), 256 * sizeof(float)});
  products<<<blocks, 256>>>(memory.piece<half>(0), memory.piece<half>(0), memory.piece<float>(1), count);
  require(cudaDeviceSynchronize());
}

void run_empty() {
  empty<<<1, 1>>>();
  require(cudaDeviceSynchronize());
}
