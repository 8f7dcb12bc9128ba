// Threads of a block that do not reach the same barrier or warp operation; masks.

#include "common/emulation/tests/fault_reports.hpp"

namespace {

using convlab::emulation::at_line;
using convlab::emulation::device_integers;
using convlab::emulation::Reports;
using convlab::FaultKind;

constexpr int kFirstBarrierLine = __LINE__ + 4;
__global__ void branch_barriers(int* out, bool uniform) {
  const bool left = uniform || threadIdx.x < 32;
  if (left) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = 1;
}

constexpr int kLoopBarrierLine = __LINE__ + 3;
__global__ void warp_waits_for_block(int* out, bool wrong) {
  if (threadIdx.x < 16) {
    if (wrong) __syncwarp();
  } else if (wrong) {
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = 1;
}

__global__ void early_return(int* out) {
  if (threadIdx.x >= 40) return;
  __syncthreads();
  if (threadIdx.x == 39) return;
  __syncthreads();
  if (threadIdx.x == 0) *out = 1;
}

__global__ void shuffle_down(int* out, unsigned mask, int width) {
  if (threadIdx.x < 16) {
    const int got = __shfl_down_sync(mask, static_cast<int>(threadIdx.x), 8, width);
    if (threadIdx.x == 0) *out = got;
  }
}

}  // namespace

TEST_CASE("different barriers in one block are divergent") {
  const Reports reports;
  int* out = device_integers(1);
  const bool wrong = GENERATE(false, true);
  branch_barriers<<<1, 64>>>(out, !wrong);
  CHECK(cudaDeviceSynchronize() == (wrong ? cudaErrorLaunchFailure : cudaSuccess));
  INFO(reports.text());
  CHECK(reports.empty() != wrong);
  if (wrong) {
    CHECK(reports.has("divergent barrier"));
    CHECK(reports.last().fault == FaultKind::kBarrier);
    CHECK(!reports.last().thread.has_value());
    CHECK(reports.has(at_line(kFirstBarrierLine)));
    CHECK(reports.has(at_line(kFirstBarrierLine + 2)));
    CHECK(reports.has("32 threads waiting in __syncthreads"));
    CHECK(reports.has("(32,0,0) to (63,0,0)"));
  }
}

TEST_CASE("threads that can never meet are a deadlock") {
  const Reports reports;
  int* out = device_integers(1);
  const bool wrong = GENERATE(false, true);
  warp_waits_for_block<<<1, 32>>>(out, wrong);
  CHECK(cudaDeviceSynchronize() == (wrong ? cudaErrorLaunchTimeout : cudaSuccess));
  INFO(reports.text());
  CHECK(reports.empty() != wrong);
  if (wrong) {
    CHECK(reports.has("deadlock"));
    CHECK(reports.last().fault == FaultKind::kBarrier);
    CHECK(reports.has("16 threads waiting in __syncwarp (mask 0xffffffff) at"));
    CHECK(reports.has(at_line(kLoopBarrierLine)));
    CHECK(reports.has("16 threads waiting in __syncthreads"));
  }
}

TEST_CASE("leaving a kernel before a barrier is legal") {
  const Reports reports;
  int* out = device_integers(1);
  early_return<<<3, 256>>>(out);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(reports.empty());
  int value = 0;
  REQUIRE(cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(value == 1);
}

TEST_CASE("reading a lane outside the mask is noted") {
  const Reports reports;
  int* out = device_integers(1);
  shuffle_down<<<1, 32>>>(out, 0xffff, 16);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(reports.empty());
  shuffle_down<<<1, 32>>>(out, 0xffff, 32);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  INFO(reports.text());
  CHECK(reports.has("lane 8 reads lane 16, which does not take part (mask 0x0000ffff)"));
  CHECK(reports.last().is_note);
}

TEST_CASE("a mask names its caller") {
  const Reports reports;
  int* out = device_integers(1);
  shuffle_down<<<1, 32>>>(out, 0x00ff, 16);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(reports.has("__shfl_down_sync is called by lane 8, which its mask 0x000000ff does not name"));
}
