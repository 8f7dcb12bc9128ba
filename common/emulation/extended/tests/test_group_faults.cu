// Faults with fragments, groups and asynchronous copies, each beside a right twin.

#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <climits>
#include <utility>
#include <vector>

#include "common/emulation/tests/fault_reports.hpp"

namespace {

namespace cg = cooperative_groups;
namespace wmma = nvcuda::wmma;

using convlab::emulation::check;
using convlab::emulation::device_integers;

// ---- fragments ----------------------------------------------------------------------------------

/// @param lanes   how many lanes of the warp reach the load
/// @param offset  elements by which the address is off; of lane 7, `seventh` more
__global__ void load_fragment(int lanes, int offset, int leading, int seventh = 0) {
  __shared__ __align__(32) half tile[16 * 32];
  for (int i = static_cast<int>(threadIdx.x); i < 16 * 32; i += static_cast<int>(blockDim.x)) {
    tile[i] = __float2half(1.0F);
  }
  __syncthreads();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  const int mine = offset + (threadIdx.x == 7 ? seventh : 0);
  if (static_cast<int>(threadIdx.x) < lanes) {
    wmma::load_matrix_sync(a, tile + mine, static_cast<unsigned>(leading));
  }
  __syncthreads();
}

/// The first row of A by the first column of B, added to `first`.
template <class T, class Sum>
__global__ void multiply_lines(const T* row, const T* column, Sum first, Sum* out, bool saturate) {
  __shared__ __align__(32) T a[256];
  __shared__ __align__(32) T b[256];
  __shared__ __align__(32) Sum c[256];
  for (unsigned i = threadIdx.x; i < 256; i += 32) {
    a[i] = i < 16 ? row[i] : T(0);
    b[i] = i % 16 == 0 ? column[i / 16] : T(0);
    c[i] = first;
  }
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> part_a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> part_b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> sum;
  wmma::load_matrix_sync(part_a, a, 16);
  wmma::load_matrix_sync(part_b, b, 16);
  wmma::load_matrix_sync(sum, c, 16, wmma::mem_row_major);
  wmma::mma_sync(sum, part_a, part_b, sum, saturate);
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
  if (threadIdx.x == 0) *out = c[0];
}

template <class T, class Sum>
Sum product_of(const std::vector<T>& row, const std::vector<T>& column, Sum first,
               bool saturate = false) {
  T* lines = nullptr;
  Sum* out = nullptr;
  REQUIRE(cudaMallocManaged(&lines, 32 * sizeof(T)) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&out, sizeof(Sum)) == cudaSuccess);
  for (std::size_t i = 0; i < 16; ++i) {
    lines[i] = i < row.size() ? row[i] : T(0);
    lines[16 + i] = i < column.size() ? column[i] : T(0);
  }
  multiply_lines<T, Sum><<<1, 32>>>(lines, lines + 16, first, out, saturate);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  const Sum sum = *out;
  cudaFree(lines);
  cudaFree(out);
  return sum;
}

}  // namespace

TEST_CASE("fragments: a group is one sum of cut products, half sums are rounded once") {
  // 1 + 15 · 2^-24: the group is one sum, which keeps two bits beyond a float, and is cut in the end.
  // A chain of floats would lose each term alone; the order of the terms does not matter.
  std::vector<half> terms(16, half(0x1p-12F));
  terms[0] = half(1.0F);
  const float first = product_of(terms, terms, 0.0F);
  CHECK(first == 1.0F + 14 * 0x1p-24F);
  std::swap(terms[0], terms[15]);
  CHECK(product_of(terms, terms, 0.0F) == first);
  // 2048 + 1 + 1 is 2050 in a float sum; rounding to half at each step would stay at 2048.
  const std::vector<half> ones(2, half(1.0F));
  CHECK(static_cast<float>(product_of(ones, ones, half(2048.0F))) == 2050.0F);
}

TEST_CASE("fragments: integer sums wrap round or stop at the limits") {
  const std::vector<unsigned char> most{255};
  CHECK(product_of(most, most, INT_MAX, true) == INT_MAX);
  CHECK(product_of(most, most, INT_MAX, false) == INT_MIN + 255 * 255 - 1);
}

TEST_CASE("fragments: what the hardware would not take is refused in words") {
  check({
      {"right", [] { load_fragment<<<1, 32>>>(32, 0, 32); }, cudaSuccess},
      {"half a warp", [] { load_fragment<<<1, 32>>>(16, 0, 32); }, cudaErrorLaunchTimeout,
       {"load_matrix_sync"}},
      {"half a warp in the block", [] { load_fragment<<<1, 16>>>(16, 0, 32); },
       cudaErrorLaunchFailure,
       {"load_matrix_sync needs all 32 lanes of the warp, but only the lanes of mask 0x0000ffff are "
        "there"}},
      {"an address", [] { load_fragment<<<1, 32>>>(32, 2, 32); }, cudaErrorMisalignedAddress,
       {"load_matrix_sync: the address must be a multiple of 16 bytes (it is 4 above one) and so "
        "must the leading dimension (32 elements are 64 bytes)"}},
      {"a leading dimension", [] { load_fragment<<<1, 32>>>(32, 0, 18); },
       cudaErrorMisalignedAddress, {"18 elements are 36 bytes"}},
      {"a short one", [] { load_fragment<<<1, 32>>>(32, 0, 8); }, cudaErrorLaunchFailure,
       {"load_matrix_sync: the leading dimension is 8, less than the 16 elements of a line of the "
        "fragment"}},
      {"lanes that differ", [] { load_fragment<<<1, 32>>>(32, 0, 32, 8); }, cudaErrorLaunchFailure,
       {"lane 7 passes another address, leading dimension or layout than lane 0"}},
  });
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
  const auto copy = [](int mode) { return [=] { copy_wrongly<<<1, 1>>>(device_integers(32), mode); }; };
  check({{"destination", copy(0), cudaErrorInvalidAddressSpace, {"not in the block's shared memory"}},
         {"alignment", copy(1), cudaErrorMisalignedAddress,
          {"destination is not aligned to the 16 bytes"}},
         {"size", copy(2), cudaErrorIllegalInstruction, {"copies 4, 8 or 16 bytes, not 12"}}});
}

// ---- groups -------------------------------------------------------------------------------------

namespace {

__global__ void shuffle_in_half_a_tile(int* out) {
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  if (tile.thread_rank() < 4) out[threadIdx.x] = tile.shfl_down(static_cast<int>(threadIdx.x), 1);
}

/// Blocks below `end` go home before the others meet.
__global__ void meet(int end) {
  if (static_cast<int>(blockIdx.x) >= end) cg::this_grid().sync();
}

cudaError_t launch_meeting(unsigned blocks, int end) {
  void* arguments[] = {&end};
  return cudaLaunchCooperativeKernel((void*)meet, dim3(blocks), dim3(64), arguments);
}

}  // namespace

TEST_CASE("group faults: tiles and the whole grid") {
  check({
      // The lanes that stay away have exited by the time the others meet: that is legal, and what is
      // read from them undefined. The last of the four reads one of them.
      {"a part of a tile stays away", [] { shuffle_in_half_a_tile<<<1, 32>>>(device_integers(32)); },
       cudaSuccess, {"test_group_faults.cu"}},
      {"a grid meets as a whole", [] { launch_meeting(40, 0); }, cudaSuccess},
      {"a block has ended", [] { launch_meeting(4, 1); }, cudaErrorLaunchTimeout,
       {"a block of the grid has ended without it"}},
      {"no cooperative launch", [] { meet<<<2, 64>>>(0); }, cudaErrorIllegalInstruction,
       {"grid.sync() needs a launch by cudaLaunchCooperativeKernel"}},
      {"too large for the device",
       [] { CHECK(launch_meeting(1 << 20, 0) == cudaErrorCooperativeLaunchTooLarge); }, cudaSuccess,
       {"the device holds"}},
  });
}
