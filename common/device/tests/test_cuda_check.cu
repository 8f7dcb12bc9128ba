// What the checks say about the usual mistakes. Runs emulated, where the errors are CUDA's too, and
// on a GPU.
#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/contains.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/device/cuda_check.cuh"
#include "common/device/device_buffer.cuh"
#include "common/device/device_session.hpp"

using namespace convlab;
using convlab::testing::contains;
using convlab::testing::message_of;

namespace {

__global__ void fill(float* data, int size, float value) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < size) data[i] = value;
}

void launch(dim3 grid, dim3 block, std::size_t shared_bytes) {
  DeviceBuffer<float> data(1);
  fill<<<grid, block, shared_bytes>>>(data.data(), 1, 1.0f);
  CONVLAB_CUDA_CHECK_LAUNCH(grid, block, shared_bytes);
}

}  // namespace

TEST_CASE("cuda check: file, line, the call and CUDA's reason") {
  const std::string message = message_of(
      [] { CONVLAB_CUDA_CHECK(cudaMemcpy(nullptr, nullptr, 4, cudaMemcpyHostToDevice)); });
  INFO(message);
  CHECK(message.find("common/device/tests/test_cuda_check.cu:") == 0);
  CHECK(contains(message,
                 "cudaMemcpy(nullptr, nullptr, 4, cudaMemcpyHostToDevice) failed: "
                 "invalid argument (cudaErrorInvalidValue)."));
}

TEST_CASE("cuda check: out of memory tells what is free") {
  void* pointer = nullptr;
  const std::string message =
      message_of([&] { CONVLAB_CUDA_CHECK(cudaMalloc(&pointer, std::size_t{1} << 40)); });
  INFO(message);
  CHECK(contains(message, "(cudaErrorMemoryAllocation). "));
  CHECK(contains(message, " are free."));
}

TEST_CASE("cuda check: a launch beyond a limit tells its sizes and the limits") {
  const auto said = [](dim3 grid, dim3 block, std::size_t shared_bytes) {
    return message_of([&] { launch(grid, block, shared_bytes); });
  };
  CHECK(contains(said({1, 1, 160'000}, 32, 0), "a grid of 1 x 1 x 160000 blocks of 32 x 1 x 1 "));
  CHECK(contains(said({1, 65'536}, 32, 0), "above 65535"));
  CHECK(contains(said(1, {32, 33}, 0), "more than 1024 threads"));
  CHECK(contains(said(0, 32, 0), "size"));
  CHECK(contains(said(1, 32, 50'000), "and 50000 bytes of shared memory failed"));
}

TEST_CASE("cuda check: a failed launch that nobody looked at is found at the fence, once") {
  CHECK(contains(message_of([] { CONVLAB_CUDA_CHECK(cudaSetDevice(99)); }), "invalid device"));
  CHECK_NOTHROW(check_device("the test"));
  fill<<<dim3(1, 1, 70'000), 32>>>(nullptr, 0, 0.0f);
  const std::string message = message_of([] { check_device("convolve"); });
  INFO(message);
  CHECK(contains(message, "Something that convolve started on the device failed: "));
  CHECK(contains(message, "grid.z"));
}
