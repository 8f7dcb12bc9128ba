// Threads of a block that do not reach the same barrier or warp operation; masks.

#include "common/emulation/tests/fault_reports.hpp"

namespace {

using convlab::emulation::at_line;
using convlab::emulation::check;
using convlab::emulation::device_integers;
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

// The thread of this block and rank waits for a flag that the last one of the grid sets.
constexpr int kPollLine = __LINE__ + 4;
__global__ void wait_for_last(int* flag, int block, int rank, bool wrong) {
  const bool is_last = blockIdx.x == gridDim.x - 1 && threadIdx.x == blockDim.x - 1;
  if (static_cast<int>(blockIdx.x) == block && static_cast<int>(threadIdx.x) == rank)
    while (atomicAdd(flag, 0) == 0) continue;
  if (is_last && !wrong) atomicExch(flag, 1);
}

// As programs write it that know nothing of grid.sync().
__global__ void own_grid_barrier(int* arrived, int* out, int rounds) {
  for (int round = 1; round <= rounds; ++round) {
    if (threadIdx.x == 0) {
      atomicAdd(arrived, 1);
      while (atomicCAS(arrived, -1, -1) < round * static_cast<int>(gridDim.x)) continue;
    }
    __syncthreads();
  }
  atomicAdd(out, 1);
}

int* zeros(int count) {
  int* const memory = device_integers(count);
  REQUIRE(cudaMemset(memory, 0, 4 * static_cast<std::size_t>(count)) == cudaSuccess);
  return memory;
}

__global__ void shuffle_down(int* out, unsigned mask, int width) {
  if (threadIdx.x < 16) {
    const int got = __shfl_down_sync(mask, static_cast<int>(threadIdx.x), 8, width);
    if (threadIdx.x == 0) *out = got;
  }
}

}  // namespace

TEST_CASE("barriers and masks: faults have their codes and words, and right twins none") {
  check({
      {"one barrier", [] { branch_barriers<<<1, 64>>>(device_integers(1), true); }, cudaSuccess},
      {"two barriers", [] { branch_barriers<<<1, 64>>>(device_integers(1), false); },
       cudaErrorLaunchFailure,
       {"divergent barrier", at_line(kFirstBarrierLine), at_line(kFirstBarrierLine + 2),
        "in kernel branch_barriers, block (0,0,0)\n", "32 threads waiting in __syncthreads",
        "(32,0,0) to (63,0,0)"}, FaultKind::kBarrier},
      {"nobody waits", [] { warp_waits_for_block<<<1, 32>>>(device_integers(1), false); },
       cudaSuccess},
      {"a deadlock", [] { warp_waits_for_block<<<1, 32>>>(device_integers(1), true); },
       cudaErrorLaunchTimeout,
       {"deadlock", "16 threads waiting in __syncwarp (mask 0xffffffff) at",
        at_line(kLoopBarrierLine), "16 threads waiting in __syncthreads"}, FaultKind::kBarrier},
      {"leaving a kernel before a barrier is legal", [] {
         int* out = device_integers(1);
         early_return<<<3, 256>>>(out);
         int value = 0;
         REQUIRE(cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
         CHECK(value == 1);
       }, cudaSuccess},
      {"a flag of a later lane", [] { wait_for_last<<<1, 32>>>(zeros(1), 0, 3, false); },
       cudaSuccess},
      {"a flag of a later warp", [] { wait_for_last<<<1, 96>>>(zeros(1), 0, 3, false); },
       cudaSuccess},
      {"a flag of a later block", [] { wait_for_last<<<40, 64>>>(zeros(1), 2, 3, false); },
       cudaSuccess},
      {"a flag that nobody sets", [] { wait_for_last<<<40, 64>>>(zeros(1), 2, 3, true); },
       cudaErrorLaunchTimeout,
       {"the kernel waits for ever: no other thread is left to change what it reads",
        at_line(kPollLine), "block (2,0,0)"}, FaultKind::kKernelTime},
      {"a barrier of all blocks", [] {
         int* const memory = zeros(2);
         own_grid_barrier<<<12, 32>>>(memory, memory + 1, 5);
         int value = 0;
         REQUIRE(cudaMemcpy(&value, memory + 1, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
         CHECK(value == 12 * 32);
       }, cudaSuccess},
      {"lanes of the mask", [] { shuffle_down<<<1, 32>>>(device_integers(1), 0xffff, 16); },
       cudaSuccess},
      {"a lane outside the mask", [] { shuffle_down<<<1, 32>>>(device_integers(1), 0xffff, 32); },
       cudaSuccess,
       {"note: lane 8 reads lane 16, which does not take part (mask 0x0000ffff)"}},
      {"a mask without its caller", [] { shuffle_down<<<1, 32>>>(device_integers(1), 0x00ff, 16); },
       cudaErrorLaunchFailure,
       {"__shfl_down_sync is called by lane", ", which its mask 0x000000ff does not name"}},
  });
}
