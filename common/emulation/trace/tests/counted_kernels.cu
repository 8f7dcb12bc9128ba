// Kernels whose requests follow from the CUDA C++ Programming Guide: sectors of 32 bytes, 32 banks of
// 4 bytes.

#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstddef>
#include <memory>

#include "common/emulation/trace/tests/counted_kernels.hpp"

// As memcpy, malloc and fmaf are called by a file that the grader traces.
extern "C" __device__ void* convlab_traced_memcpy(void* to, const void* from, std::size_t bytes);
extern "C" __device__ float convlab_traced_fmaf(float x, float y, float z);

namespace {

__device__ float kept;
__device__ float4 kept_four;

struct Wide {
  float x[64];
};
__device__ Wide kept_wide;

__global__ void load(const float* from, int stride, int offset) {
  kept = from[threadIdx.x * stride + offset];
}

__global__ void load_by_some(const float* from, int lanes) {
  if (threadIdx.x < lanes) kept = from[threadIdx.x];
}

__global__ void load_four(const float4* from) {
  kept_four = from[threadIdx.x];
}

__global__ void add_four(const float4* from) {
  const float4 four = from[threadIdx.x];
  kept = four.x + four.y * four.z - four.w;
}

// nvcc writes out all of these loops, also that of the counter which nobody names in a head.
__global__ void keep_in_registers(const float* from) {
  constexpr int kRows = 2;
  float row[2 * kRows][2];
  int filled = 0;
  for (int i = 0; i < 2 * kRows; ++i)
    for (int j = 0; j < 2; ++j) {
      const int place = 2 * i + j;
      row[filled++ / 2][j] = from[place + threadIdx.x];
    }
  float sum = 0.0f;
  for (int width = kRows; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) sum += row[i][0] + row[i + width][1];
  kept = sum;
}

__global__ void index_up_to(const float* from, int count) {
  float row[8];
  for (int i = 0; i < count; ++i) row[i] = from[i + threadIdx.x];
  float sum = 0.0f;
  for (int i = 0; i < count; ++i) sum += row[count - 1 - i];
  kept = sum;
}

__global__ void index_by_lane(const float* from) {
  Wide row;
  for (int i = 0; i < 8; ++i) row.x[i] = from[i + threadIdx.x];
  kept = row.x[threadIdx.x % 8];
}

__global__ void load_shared(int stride) {
  extern __shared__ float tile[];
  kept = tile[threadIdx.x * stride];
}

__global__ void load_four_shared(int stride) {
  extern __shared__ float4 tile_of_four[];
  kept_four = tile_of_four[threadIdx.x * stride];
}

__global__ void load_wide_shared() {
  extern __shared__ Wide wide_tile[];
  if (threadIdx.x < 2) kept_wide = wide_tile[threadIdx.x];
}

// In each turn another lane, which the n-th arrival of each would take for one request.
__global__ void load_in_turns(const float* from) {
  for (int turn = 0; turn < 32; ++turn) {
    if (turn == threadIdx.x) kept = from[threadIdx.x];
  }
}

// Odd lanes make three turns of the inner loop, even ones one.
__global__ void load_in_inner_loops(const float* from) {
  for (int i = 0; i < 2; ++i) {
    const int turns = threadIdx.x % 2 == 0 ? 1 : 3;
    for (int j = 0; j < turns; ++j) kept = from[i * 128 + j * 32 + threadIdx.x];
  }
}

__device__ __noinline__ float element(const float* from, int i) {
  return i % 2 == 0 ? from[i] : from[i + 64];
}
__global__ void load_in_calls(const float* from) {
  for (int i = threadIdx.x % 3; i < 3; ++i) kept = element(from, threadIdx.x);
}

__global__ void copy_by_bytes(const float* from, int bytes) {
  float4 four;
  memcpy(&four, from + 4 * threadIdx.x, sizeof(four));
  kept_four = four;
  convlab_traced_memcpy(&four, from + 4 * threadIdx.x, bytes);
  kept_four = four;
}

__global__ void load_elements_shared() {
  extern __shared__ float4 tile_of_four[];
  const float4* const mine = tile_of_four + threadIdx.x;
  kept = mine->x * mine->y + mine->z * mine->w;
}

__global__ void load_neighbours_shared(int stride, int distance) {
  extern __shared__ float tile[];
  kept = tile[threadIdx.x * stride] * tile[threadIdx.x * stride + distance];
}

// The first thread reads a variable of its own at the same place.
__global__ void load_from_two(const float* from) {
  float own[32];
  for (int i = 0; i < 32; ++i) own[i] = i;
  const float* const here = threadIdx.x == 0 ? own : from;
  kept = here[threadIdx.x];
}

__global__ void load_from_heap(const float* from) {
  __shared__ float* heap;
  if (threadIdx.x == 0) {
    void* memory = malloc(256);
    std::size_t bytes = 256;
    heap = static_cast<float*>(std::align(32, 128, memory, bytes));
  }
  __syncthreads();
  heap[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  kept = heap[31 - threadIdx.x];
}

// Begins an operation and does not end it.
__global__ void begin_atomically(volatile float* from) {
  convlab::emulation::begin_atomic(const_cast<float*>(from) + threadIdx.x, sizeof(float), 0);
  for (int i = 0; i < 4; ++i) kept = from[threadIdx.x];
}

__global__ void add_atomically(float* to, int stride) {
  atomicAdd(to + threadIdx.x * stride, 1.0f);
}

__global__ void copy_asynchronously(const float* from) {
  extern __shared__ float tile[];
  __pipeline_memcpy_async(tile + threadIdx.x, from + threadIdx.x, sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

// Three products of 32 threads, then one more of ten, then two of none.
__global__ void multiply_floats(const float* from) {
  float sum = from[threadIdx.x];
  for (int i = 0; i < 3; ++i) sum = sum * from[threadIdx.x] + 1.0f;
  if (threadIdx.x < 10) sum *= from[0];
  if (from[0] < -1.0f) sum = sum * sum * from[1];
  kept = sum;
}

__global__ void multiply_by_function(const float* from) {
  kept = convlab_traced_fmaf(from[threadIdx.x], from[0], 1.0f);
}

__global__ void multiply_doubles(const float* from) {
  double sum = from[threadIdx.x];
  for (int i = 0; i < 3; ++i) sum = double{from[threadIdx.x]} * sum + sum;
  if (threadIdx.x < 10) sum = sum * from[0];
  kept = static_cast<float>(sum);
}

__global__ void multiply_halves(const half* from) {
  half sum = from[threadIdx.x];
  for (int i = 0; i < 3; ++i) sum = __hfma(from[threadIdx.x], sum, sum);
  if (threadIdx.x < 10) sum = sum * from[0];
  kept = __half2float(sum);
}

__global__ void multiply_half_pairs(const half2* from) {
  half2 sum = from[threadIdx.x];
  for (int i = 0; i < 3; ++i) sum = __hfma2(from[threadIdx.x], sum, sum);
  if (threadIdx.x < 10) sum = __hmul2(sum, from[0]);
  kept = __low2float(sum);
}

__global__ void write_mark() {
  convlab::emulation::product_marks[2] = 1;
}

__global__ void copy_half_pairs(half2* to) {
  to[threadIdx.x] = to[threadIdx.x + 32];
}

// The neighbours of a thread in the turns of a loop, and a store in between.
__global__ void load_neighbours_in_turns(bool stores) {
  extern __shared__ float tile[];
  float sum = 0.0f;
#pragma GCC unroll 0
  for (int i = 0; i < 4; ++i) {
    sum += tile[4 * threadIdx.x + i];
    if (stores) tile[512 + threadIdx.x] = sum;
  }
  kept = sum;
}

__global__ void multiply(const half* from) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(b, __float2half(1.0f));
  wmma::fill_fragment(sum, 0.0f);
  wmma::load_matrix_sync(a, from, 16);
  wmma::mma_sync(sum, a, b, sum);
}

__global__ void multiply_by_ptx(const half* from) {
  const unsigned a = reinterpret_cast<const unsigned*>(from)[threadIdx.x];
  float sum[4] = {};
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a), "r"(a), "r"(a), "r"(a), "r"(a), "r"(a));
  kept = sum[0];
}

__global__ void store_fragment(float* to) {
  using namespace nvcuda;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 1.0f);
  wmma::store_matrix_sync(to, sum, 16, wmma::mem_row_major);
}

__device__ void add_one(float* to) {
  *to += 1.0f;
}
template <int kTwin>
__global__ void twin(float* to) {
  if (kTwin < 2) add_one(to);
  if (kTwin == 2) to[1] += 2.0f;
}

__global__ void half_product(float* to) {
  *to = __half2float(__float2half(48.0f) * __float2half(3.0f) + __float2half(2.0f) * __float2half(1.0f));
}

constexpr std::size_t kSharedBytes = 32 * 33 * sizeof(float);

// Of a kernel that gets memory, and of one that has shared memory only.
#define WITH(kernel, type, ...)                                                              \
  [](void* memory) {                                                                         \
    kernel<<<1, 32, kSharedBytes>>>(static_cast<type*>(memory) __VA_OPT__(, ) __VA_ARGS__);  \
  }
#define SHARED(kernel, ...) [](void*) { kernel<<<1, 32, kSharedBytes>>>(__VA_ARGS__); }

}  // namespace

namespace convlab::emulation {

void run_write_mark() {
  write_mark<<<1, 1>>>();
}

void run_twins(float* memory, cudaStream_t stream) {
  twin<0><<<1, 1, 0, stream>>>(memory);
  twin<1><<<1, 1, 0, stream>>>(memory);
  twin<2><<<1, 1, 0, stream>>>(memory);
}

void run_half_product(float* memory) {
  half_product<<<1, 1>>>(memory);
}

// Name, kernel, space, writes, requests, lanes, parts, conflicts, kind of product, multiply-adds, operations of
// warps.
std::vector<CountedKernel> counted_kernels() {
  return {
      {"side by side", WITH(load, const float, 1, 0), "global", false, 1, 32, 4, 0},
      {"one element later", WITH(load, const float, 1, 1), "global", false, 1, 32, 5, 0},
      {"every second", WITH(load, const float, 2, 0), "global", false, 1, 32, 8, 0},
      {"a sector each", WITH(load, const float, 8, 0), "global", false, 1, 32, 32, 0},
      {"all the same", WITH(load, const float, 0, 0), "global", false, 1, 32, 1, 0},
      {"ten lanes", WITH(load_by_some, const float, 10), "global", false, 1, 10, 2, 0},
      {"four floats of a lane", WITH(load_four, const float4), "global", false, 1, 32, 16, 0},
      {"four floats of a lane, each used", WITH(add_four, const float4), "global", false, 1, 32, 16, 0},
      {"known indices", WITH(keep_in_registers, const float), "local", false, 0, 0, 0, 0},
      {"indices up to a parameter", WITH(index_up_to, const float, 3), "local", false, 3, 96, 12, 0},
      {"the same, written", WITH(index_up_to, const float, 3), "local", true, 3, 96, 12, 0},
      {"an index of each lane", WITH(index_by_lane, const float), "local", false, 1, 32, 32, 0},
      {"shared, side by side", SHARED(load_shared, 1), "shared", false, 1, 32, 1, 0},
      {"shared, every second", SHARED(load_shared, 2), "shared", false, 1, 32, 2, 1},
      {"shared, one bank", SHARED(load_shared, 32), "shared", false, 1, 32, 32, 31},
      {"shared, padded", SHARED(load_shared, 33), "shared", false, 1, 32, 1, 0},
      {"shared, all the same", SHARED(load_shared, 0), "shared", false, 1, 32, 1, 0},
      {"shared, four floats side by side", SHARED(load_four_shared, 1), "shared", false, 1, 32, 4, 0},
      {"shared, the same four floats", SHARED(load_four_shared, 0), "shared", false, 1, 32, 2, 0},
      // 16 requests of 16 bytes; two lanes 256 bytes apart use the same banks.
      {"shared, 256 bytes of two lanes", SHARED(load_wide_shared), "shared", false, 16, 32, 32, 16},
      {"a lane in each turn", WITH(load_in_turns, const float), "global", false, 32, 32, 32, 0},
      {"inner loops of different length", WITH(load_in_inner_loops, const float), "global", false, 6, 128, 24, 0},
      // Of three lanes one makes a turn, one two, and one three; odd lanes have a line of their own.
      {"in calls", WITH(load_in_calls, const float), "global", false, 6, 65, 24, 0},
      // The first copy is of floats, whose type promises no 16 bytes: four requests. (nvcc 13.0 even
      // makes 16 loads of a byte of it, and four loads of a struct of four floats.)
      {"copied by bytes", WITH(copy_by_bytes, const float, 16), "global", false, 5, 160, 80, 0},
      {"shared, four floats one by one", SHARED(load_elements_shared), "shared", false, 1, 32, 4, 0},
      {"shared, two neighbours", SHARED(load_neighbours_shared, 2, 1), "shared", false, 1, 32, 2, 0},
      {"shared, not neighbours", SHARED(load_neighbours_shared, 2, 3), "shared", false, 2, 64, 4, 2},
      {"shared, not aligned", SHARED(load_neighbours_shared, 3, 1), "shared", false, 2, 64, 2, 0},
      {"a variable of a lane", WITH(load_from_two, const float), "global", false, 1, 31, 4, 0},
      {"a kernel's heap", WITH(load_from_heap, const float), "global", false, 2, 64, 8, 0},
      {"atomic, begun only", WITH(begin_atomically, float), "global", false, 3, 96, 12, 0},
      {"atomic, own addresses", WITH(add_atomically, float, 1), "global", true, 1, 32, 4, 0},
      {"atomic, one address", WITH(add_atomically, float, 0), "global", true, 1, 32, 32, 31},
      {"asynchronous copy, from", WITH(copy_asynchronously, const float), "global", false, 1, 32, 4, 0},
      {"asynchronous copy, to", WITH(copy_asynchronously, const float), "shared", true, 1, 32, 1, 0},
      // 16 rows of 32 bytes: four times eight rows of 16 bytes, each of them in its own sector.
      {"fragment", WITH(multiply, const half), "global", false, 4, 32, 32, 0, "tensor", 4096},
      {"by PTX", WITH(multiply_by_ptx, const half), "global", false, 1, 32, 4, 0, "tensor-ptx", 2048},
      // 16 rows of 64 bytes: four times eight rows of 32 bytes.
      {"fragment, stored", WITH(store_fragment, float), "global", true, 4, 32, 32, 0},
      {"floats", WITH(multiply_floats, const float), "shared", false, 0, 0, 0, 0, "float", 106, 4},
      {"fmaf", WITH(multiply_by_function, const float), "shared", false, 0, 0, 0, 0, "float", 32, 1},
      {"halves", WITH(multiply_halves, const half), "shared", false, 0, 0, 0, 0, "half", 106, 4},
      {"halves are no floats", WITH(multiply_halves, const half), "shared", false, 0, 0, 0, 0, "float", 0},
      {"doubles", WITH(multiply_doubles, const float), "shared", false, 0, 0, 0, 0, "double", 106, 4},
      {"halves are no doubles", WITH(multiply_halves, const half), "shared", false, 0, 0, 0, 0, "double", 0},
      {"pairs are no doubles", WITH(multiply_half_pairs, const half2), "shared", false, 0, 0, 0, 0, "double", 0},
      {"pairs of halves", WITH(multiply_half_pairs, const half2), "shared", false, 0, 0, 0, 0, "half2", 212, 4},
      {"a pair is one load", WITH(copy_half_pairs, half2), "global", false, 1, 32, 4, 0},
      {"a pair is one store", WITH(copy_half_pairs, half2), "global", true, 1, 32, 4, 0},
      {"shared, neighbours in turns", SHARED(load_neighbours_in_turns, false), "shared", false, 1, 32, 4, 0},
      {"shared, a store between", SHARED(load_neighbours_in_turns, true), "shared", false, 4, 128, 16, 12},
  };
}

}  // namespace convlab::emulation
