// Device functions and calls that no milestone uses.

#include <cstdint>

#include "common/base/testing/catch.hpp"

namespace {

__device__ float2 pair_sum;
__device__ float4 quad_sum;
__device__ unsigned counter;

__global__ void add_vectors() {
  atomicAdd(&pair_sum, make_float2(1.0F, 2.0F));
  atomicAdd(&quad_sum, make_float4(1.0F, 2.0F, 3.0F, 4.0F));
  atomicInc_system(&counter, 9U);
}

__constant__ int constants[2];

__global__ void ask(unsigned* answers, long long* cycles) {
  extern unsigned __shared__ shared[];
  __shared__ int(counts)[4];
  unsigned local = 0;
  counts[0] = 1;
  shared[0] = 1;
  answers[0] = __isShared(shared) + __isShared(counts);
  answers[1] = __isLocal(&local);
  answers[2] = __isGlobal(answers);
  answers[3] = __isGlobal(shared) + __isGlobal(&local);
  answers[4] = __fns(0b1101U, 1, 2);   // from bit 1 upwards: 2, 3
  answers[5] = __fns(0b1101U, 2, -2);  // downwards: 2, 0
  answers[6] = __fns(0b1101U, 1, 0);
  answers[7] = __isConstant(&constants[1]);
  answers[8] = __isConstant(answers) + __isGlobal(constants);
  const auto start = clock();
  while (clock() - start < 1'000'000) {
  }
  *cycles = clock() - start;
}

}  // namespace

TEST_CASE("atomic sums of vectors, and with scopes") {
  add_vectors<<<2, 32>>>();
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  float2 pair;
  float4 quad;
  unsigned count = 0;
  cudaMemcpyFromSymbol(&pair, pair_sum, sizeof pair);
  cudaMemcpyFromSymbol(&quad, quad_sum, sizeof quad);
  cudaMemcpyFromSymbol(&count, counter, sizeof count);
  CHECK(pair.x == 64.0F);
  CHECK(pair.y == 128.0F);
  CHECK(quad.w == 256.0F);
  CHECK(count == 4);  // 64 steps through 0 to 9
}

TEST_CASE("kinds of memory, bits, and the device's clock") {
  unsigned* answers = nullptr;
  long long* cycles = nullptr;
  cudaMallocManaged(&answers, 9 * sizeof *answers);
  cudaMallocManaged(&cycles, sizeof *cycles);
  ask<<<1, 1, sizeof(unsigned)>>>(answers, cycles);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  const unsigned expected[] = {2, 1, 1, 0, 3, 0, 0xffffffffU, 1, 0};
  for (int i = 0; i < 9; ++i) {
    INFO(i);
    CHECK(answers[i] == expected[i]);
  }
  CHECK(*cycles >= 1'000'000);
  cudaFree(answers);
  cudaFree(cycles);
}

TEST_CASE("attributes of a device and priorities of streams") {
  int value = -1;
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxTexture1DWidth, 0) == cudaSuccess);
  CHECK(value == 0);
  CHECK(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(100'000), 0) ==
        cudaErrorInvalidValue);
  cudaGetLastError();
  CHECK(cudaSetDeviceFlags(cudaDeviceBlockingSync) == cudaSuccess);
  int least = 1;
  int greatest = 1;
  cudaDeviceGetStreamPriorityRange(&least, &greatest);
  CHECK(least == 0);
  CHECK(greatest < least);
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -100);
  cudaStreamGetPriority(stream, &value);
  CHECK(value == greatest);
  cudaStreamDestroy(stream);
}
