// Faults with fragments, groups and asynchronous copies, each beside a right twin.

#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <string>
#include <vector>

#include "common/emulation/tests/fault_reports.hpp"

namespace {

namespace cg = cooperative_groups;
namespace wmma = nvcuda::wmma;

/// Runs a launch, collects its reports, and leaves a working device.
template <class Launch>
std::string report_of(Launch launch, cudaError_t expected) {
  const convlab::emulation::Reports reports;
  launch();
  CHECK(cudaDeviceSynchronize() == expected);
  return reports.text();
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

// ---- fragments ----------------------------------------------------------------------------------

/// @param lanes   how many lanes of the warp reach the load
/// @param offset  elements by which the address is off
__global__ void load_fragment(int lanes, int offset, int leading) {
  __shared__ __align__(32) half tile[16 * 32];
  for (int i = static_cast<int>(threadIdx.x); i < 16 * 32; i += static_cast<int>(blockDim.x)) {
    tile[i] = __float2half(1.0F);
  }
  __syncthreads();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  if (static_cast<int>(threadIdx.x) < lanes) {
    wmma::load_matrix_sync(a, tile + offset, static_cast<unsigned>(leading));
  }
  __syncthreads();
}

}  // namespace

TEST_CASE("group faults: half a warp cannot load a fragment") {
  const std::string divergent =
      report_of([] { load_fragment<<<1, 32>>>(16, 0, 32); }, cudaErrorLaunchTimeout);
  CHECK(has(divergent, "load_matrix_sync"));
  const std::string small =
      report_of([] { load_fragment<<<1, 16>>>(16, 0, 32); }, cudaErrorLaunchFailure);
  CHECK(has(small, "load_matrix_sync needs all 32 lanes"));
  CHECK(has(small, "0x0000ffff"));
}

// ---- asynchronous copies ------------------------------------------------------------------------

namespace {

__global__ void copy_and_read(const int* from, int* to, bool wait) {
  __shared__ int buffer[32];
  const unsigned thread = threadIdx.x;
  buffer[thread] = -1;
  __syncthreads();
  __pipeline_memcpy_async(&buffer[thread], &from[thread], sizeof(int));
  __pipeline_commit();
  if (wait) __pipeline_wait_prior(0);
  __syncthreads();
  to[thread] = buffer[31 - thread];
}

std::vector<int> copied(bool wait) {
  std::vector<int> numbers(32);
  for (int i = 0; i < 32; ++i) numbers[static_cast<std::size_t>(i)] = 100 + i;
  int* data = nullptr;
  REQUIRE(cudaMalloc(&data, 64 * sizeof(int)) == cudaSuccess);
  REQUIRE(cudaMemcpy(data, numbers.data(), 128, cudaMemcpyHostToDevice) == cudaSuccess);
  // Twice: unfinished work of one block must not affect the next one.
  copy_and_read<<<2, 32>>>(data, data + 32, wait);
  std::vector<int> result(32);
  REQUIRE(cudaMemcpy(result.data(), data + 32, 128, cudaMemcpyDeviceToHost) == cudaSuccess);
  cudaFree(data);
  return result;
}

__global__ void copy_wrongly(int* data, int mode) {
  __shared__ __align__(16) int buffer[32];
  if (mode == 0) __pipeline_memcpy_async(&data[0], &data[4], 4);
  if (mode == 1) __pipeline_memcpy_async(&buffer[1], &data[1], 16);
  if (mode == 2) __pipeline_memcpy_async(&buffer[0], &data[0], 12);
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

}  // namespace

TEST_CASE("group faults: a copy that nobody waits for has not happened") {
  CHECK(copied(true).front() == 131);
  CHECK(copied(true).back() == 100);
  CHECK(copied(false) == std::vector<int>(32, -1));
}

TEST_CASE("group faults: asynchronous copies have a size, an alignment and a destination") {
  int* data = nullptr;
  const auto run = [&](int mode, cudaError_t expected) {
    REQUIRE(cudaMalloc(&data, 32 * sizeof(int)) == cudaSuccess);
    return report_of([&] { copy_wrongly<<<1, 1>>>(data, mode); }, expected);
  };
  CHECK(has(run(0, cudaErrorInvalidAddressSpace), "not in the block's shared memory"));
  CHECK(has(run(1, cudaErrorMisalignedAddress), "destination is not aligned to the 16 bytes"));
  CHECK(has(run(2, cudaErrorIllegalInstruction), "copies 4, 8 or 16 bytes, not 12"));
}

// ---- groups -------------------------------------------------------------------------------------

namespace {

__global__ void shuffle_in_half_a_tile(int* out) {
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  if (tile.thread_rank() < 4) out[threadIdx.x] = tile.shfl_down(static_cast<int>(threadIdx.x), 1);
}

}  // namespace

TEST_CASE("group faults: a tile of which a part stays away is named") {
  int* out = nullptr;
  REQUIRE(cudaMalloc(&out, 128) == cudaSuccess);
  // The lanes that stay away have exited by the time the others meet: that is legal, and what is
  // read from them undefined. The last of the four reads one of them.
  CHECK(has(report_of([&] { shuffle_in_half_a_tile<<<1, 32>>>(out); }, cudaSuccess),
            "test_group_faults.cu"));
}

// ---- the whole grid -----------------------------------------------------------------------------

namespace {

/// Blocks below `end` go home before the others meet.
__global__ void meet(int end) {
  if (static_cast<int>(blockIdx.x) >= end) cg::this_grid().sync();
}

cudaError_t launch_meeting(unsigned blocks, int end) {
  void* arguments[] = {&end};
  return cudaLaunchCooperativeKernel((void*)meet, dim3(blocks), dim3(64), arguments);
}

}  // namespace

TEST_CASE("group faults: a grid that meets as a whole is silent") {
  CHECK(report_of([] { launch_meeting(40, 0); }, cudaSuccess).empty());
}

TEST_CASE("group faults: a block that has ended is missed by the whole grid") {
  CHECK(has(report_of([] { launch_meeting(4, 1); }, cudaErrorLaunchTimeout),
            "a block of the grid has ended without it"));
}

TEST_CASE("group faults: grid.sync() needs a cooperative launch") {
  CHECK(has(report_of([] { meet<<<2, 64>>>(0); }, cudaErrorIllegalInstruction),
            "grid.sync() needs a launch by cudaLaunchCooperativeKernel"));
}

TEST_CASE("group faults: a cooperative launch must fit on the device") {
  const convlab::emulation::Reports reports;
  CHECK(launch_meeting(1 << 20, 0) == cudaErrorCooperativeLaunchTooLarge);
  CHECK(has(reports.text(), "the device holds"));
}
