// Tensor cores by their own instructions: registers instead of fragments.
//
// Idea     WMMA hides which thread holds which element. So operands must lie in shared memory with
//          a fixed distance between rows, and sums must pass through shared memory. The
//          instructions below WMMA, written as inline PTX, define where each element lies. ldmatrix
//          takes an address for each row, so rows may overlap; mma.sync leaves the sums in
//          registers in a known order, so they can be stored directly.
// Picture  mma.sync.m16n8k16, lane = 4·r + t:
//
//              A 16×16, halves     four registers: columns 2·t and 2·t + 1 of row r, then of row
//                                  r + 8; then the same two 8 columns further
//              B 16×8, halves      two registers: rows 2·t and 2·t + 1 of column r; then the same 8
//                                  rows further
//              C, D 16×8, floats   four registers: columns 2·t and 2·t + 1 of row r, then of row
//                                  r + 8
//
//          ldmatrix.x4: lane i gives the address of row i % 8 (8 halves, 16 bytes) of matrix i / 8;
//          each lane gets elements 2·t and 2·t + 1 of row r of each of the four matrices.
//          With windows (tensor-cores-fp16) as rows of A and the shifted weights of one map as B:
//
//              chunk 0 | chunk 1          a chunk is 8 neighbouring inputs; every input is stored
//              chunk 1 | chunk 2          once, because rows may overlap
//              chunk 2 | chunk 3
//
// Cost     shared memory: one store for an input. Count the bytes that ldmatrix loads for each
//          operation (512 bytes for four matrices), and choose how many windows and maps a warp
//          holds.
// Expect   faster than WMMA if shared memory is the limit. Avoid bank conflicts: eight rows of 16
//          bytes should lie in different banks.
// Run      cmake --build --preset lab --target m4 && build/bin/m4 100 --stage mma-ptx
//          build/bin/grader check m4 --stage mma-ptx
// Read     docs/ladder/mma-ptx.md

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"

namespace {

using convlab::ConvShape;

/// One product of a warp, as an example of inline PTX: outputs, inputs, and "+" for operands that
/// are both. It needs capability 8.0, and the workbook may also be built for older GPUs.
__device__ inline void multiply_add(float (&sum)[4], const unsigned (&a)[4],
                                    const unsigned (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  (void)sum, (void)a, (void)b;
#endif
}

/// Fill in: about 70 lines, and 6 for load_matrices, which is written like multiply_add:
///
///     "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
///
/// where %4 is the address of this lane's row as an unsigned, from
/// __cvta_generic_to_shared(pointer).
__global__ void conv_forward_kernel(float* output, const float* input, const float* weights,
                                    ConvShape shape) {}

class MmaPtx : public convlab::DeviceConvolution {
  /// Launches the kernel; all pointers are to device memory. Fill in: about 15 lines; shapes that
  /// do not fit your kernel need another one.
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    // Your code replaces this line.
    convlab::not_implemented("milestones/m4_optimizations/stages/mma_ptx.cu");
  }
};

// Tells the program about your class; leave it as it is.
const convlab::LadderStage<MmaPtx> stage("mma-ptx", "Your tensor cores by PTX");

}  // namespace
