// Reads beyond the end of an allocation. A GPU does not notice them if another allocation follows.
#include <cuda_runtime.h>

#include "common/base/tests/support/catch.hpp"
#include "common/device/recorded_allocations.hpp"

extern "C" cudaError_t convlab_recorded_cudaMalloc(void** memory, std::size_t bytes);
extern "C" cudaError_t convlab_recorded_cudaFree(void* memory);

namespace {

using namespace convlab;

constexpr std::size_t kCount = 1001;  // not a multiple of four

__global__ void read_at(const float* data, std::size_t index, float* result) {
  *result = data[index];
}

struct Memory {
  explicit Memory(AllocationMode mode) {
    choose_allocation_mode(mode);
    REQUIRE(convlab_recorded_cudaMalloc(reinterpret_cast<void**>(&data), kCount * sizeof(float)) ==
            cudaSuccess);
    choose_allocation_mode(AllocationMode::kUsual);
    REQUIRE(cudaMalloc(&result, sizeof(float)) == cudaSuccess);
  }
  cudaError_t read(std::size_t index) const {
    read_at<<<1, 1>>>(data, index, result);
    return cudaDeviceSynchronize();
  }
  float* data = nullptr;
  float* result = nullptr;
};

}  // namespace

TEST_CASE("guarded memory: what was asked for can be read, and holds NaN") {
  for (const AllocationMode mode : {AllocationMode::kPoisoned, AllocationMode::kGuarded}) {
    const Memory memory(mode);
    CHECK(memory.read(kCount - 1) == cudaSuccess);
    float value = 0.0f;
    REQUIRE(cudaMemcpy(&value, memory.result, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(value != value);
    CHECK(convlab_recorded_cudaFree(memory.data) == cudaSuccess);
  }
}

TEST_CASE("guarded memory: one beyond its last 16 bytes fails, one usual allocation forgives it") {
  constexpr std::size_t kBeyond = (kCount + 3) / 4 * 4;
  CHECK(Memory(AllocationMode::kPoisoned).read(kBeyond) == cudaSuccess);
  CHECK(Memory(AllocationMode::kGuarded).read(kBeyond) == cudaErrorIllegalAddress);
}
