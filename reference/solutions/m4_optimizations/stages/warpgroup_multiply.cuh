#pragma once

// Hopper's tensor cores: four warps multiply together (wgmma).
//
// The left factor is in registers: each warp has 16 of the 64 rows, as in matrix_fragments.cuh. The
// right factor is in shared memory, in blocks of 8 columns × 8 rows. The operation is asynchronous:
// a warpgroup starts several of them and then waits for all.
//
// Source: PTX ISA, "wgmma.mma_async", "Matrix descriptor"; only for the target sm_90a.

#include <cuda_runtime.h>

#include <cstdint>

#include "common/device/bulk_copy.cuh"
#include "common/device/cuda_check.cuh"
#include "common/device/matrix_fragments.cuh"

// CONVLAB_WARPGROUP_MULTIPLY: this pass of the compiler makes code for exactly compute
// capability 9.0 with all of its features ("sm_90a").
#if CONVLAB_BULK_COPY && defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define CONVLAB_WARPGROUP_MULTIPLY 1
#else
#define CONVLAB_WARPGROUP_MULTIPLY 0
#endif

namespace convlab {

/// Whether this program has the kernel's code for warpgroups on this GPU. The kernel's launch
/// bounds are one thread where CONVLAB_WARPGROUP_MULTIPLY is 0.
template <class Kernel>
bool has_warpgroup_code([[maybe_unused]] Kernel* kernel) {
#if CONVLAB_EMULATED
  return false;
#else
  cudaFuncAttributes attributes = {};
  CONVLAB_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
  return attributes.maxThreadsPerBlock > 1;
#endif
}

}  // namespace convlab

#if CONVLAB_WARPGROUP_MULTIPLY

namespace convlab {

/// Describes the place of a right factor (16 × n halves) in shared memory. It consists of blocks of
/// 8 columns × 8 rows; each block is 128 bytes, column after column.
/// @param row_step     bytes from a block to the one with the next 8 rows
/// @param column_step  bytes from a block to the one with the next 8 columns
__device__ inline std::uint64_t right_descriptor(const void* shared, int row_step,
                                                 int column_step) {
  return static_cast<std::uint64_t>((shared_address(shared) & 0x3ffff) >> 4) |
         static_cast<std::uint64_t>(row_step >> 4) << 16 |
         static_cast<std::uint64_t>(column_step >> 4) << 32;
}

/// Before the first multiply_add of a group: registers written so far are complete.
__device__ inline void multiply_begin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/// Ends a group of multiply_adds.
__device__ inline void multiply_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most Pending groups are not done.
template <int Pending = 0>
__device__ void multiply_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/// Keeps the compiler from moving an access of `value` across this line.
__device__ inline void keep_here(float& value) {
  asm volatile("" : "+f"(value)::"memory");
}

/// sums (64 × Columns, a quarter per warp) += left (64 × 16) · right (16 × Columns). Runs on until
/// multiply_wait: until then neither `sums` nor `left` may be touched.
/// @param keep  0: the sums start at zero
template <int Columns>
__device__ void multiply_add(float* sums, const HalfPair* left, std::uint64_t right, int keep);

template <>
__device__ inline void multiply_add<24>(float* sums, const HalfPair* left, std::uint64_t right,
                                        int keep) {
  asm volatile(
      "{\n.reg .pred keep;\nsetp.ne.b32 keep, %17, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, "
      "%9, %10, %11}, {%12, %13, %14, %15}, %16, keep, 1, 1, 0;\n}\n"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]),
        "+f"(sums[6]), "+f"(sums[7]), "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]), "+f"(sums[11])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "r"(keep));
}

template <>
__device__ inline void multiply_add<40>(float* sums, const HalfPair* left, std::uint64_t right,
                                        int keep) {
  asm volatile(
      "{\n.reg .pred keep;\nsetp.ne.b32 keep, %25, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n40k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, "
      "%9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19}, {%20, %21, %22, %23}, %24, keep, "
      "1, 1, 0;\n}\n"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]),
        "+f"(sums[6]), "+f"(sums[7]), "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]), "+f"(sums[11]),
        "+f"(sums[12]), "+f"(sums[13]), "+f"(sums[14]), "+f"(sums[15]), "+f"(sums[16]),
        "+f"(sums[17]), "+f"(sums[18]), "+f"(sums[19])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "r"(keep));
}

template <>
__device__ inline void multiply_add<48>(float* sums, const HalfPair* left, std::uint64_t right,
                                        int keep) {
  asm volatile(
      "{\n.reg .pred keep;\nsetp.ne.b32 keep, %29, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n48k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, "
      "%9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23}, {%24, %25, "
      "%26, %27}, %28, keep, 1, 1, 0;\n}\n"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]),
        "+f"(sums[6]), "+f"(sums[7]), "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]), "+f"(sums[11]),
        "+f"(sums[12]), "+f"(sums[13]), "+f"(sums[14]), "+f"(sums[15]), "+f"(sums[16]),
        "+f"(sums[17]), "+f"(sums[18]), "+f"(sums[19]), "+f"(sums[20]), "+f"(sums[21]),
        "+f"(sums[22]), "+f"(sums[23])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "r"(keep));
}

/// Sets the number of registers of each thread; all warps of a warpgroup call it.
template <int Registers>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

}  // namespace convlab

#endif  // CONVLAB_WARPGROUP_MULTIPLY
