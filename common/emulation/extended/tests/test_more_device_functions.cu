// Device functions and calls that no milestone uses.

#include "common/base/tests/support/catch.hpp"

namespace {

__device__ unsigned counter;

__global__ void count() {
  atomicInc_system(&counter, 9U);
}

__global__ void wait(unsigned* sum, long long* cycles) {
  extern unsigned __shared__ shared[];
  __shared__ int(counts)[4];
  counts[0] = 1;
  shared[0] = 2;
  *sum = shared[0] + static_cast<unsigned>(counts[0]);
  const auto start = clock();
  while (clock() - start < 1'000'000) {
  }
  *cycles = clock() - start;
}

}  // namespace

TEST_CASE("atomic operations with scopes") {
  count<<<2, 32>>>();
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  unsigned result = 0;
  cudaMemcpyFromSymbol(&result, counter, sizeof result);
  CHECK(result == 4);  // 64 steps through 0 to 9
}

TEST_CASE("other ways to declare shared variables, and the device's clock") {
  unsigned* sum = nullptr;
  long long* cycles = nullptr;
  cudaMallocManaged(&sum, sizeof *sum);
  cudaMallocManaged(&cycles, sizeof *cycles);
  wait<<<1, 1, sizeof(unsigned)>>>(sum, cycles);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(*sum == 3);
  CHECK(*cycles >= 1'000'000);
  cudaFree(sum);
  cudaFree(cycles);
}
