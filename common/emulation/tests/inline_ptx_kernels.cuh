#pragma once

// Kernels with inline PTX, for the comparison with plain loops (test_inline_ptx.cu).

#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace convlab::features {

// The lanes' words of A, B, C and D lie one lane after the other.

static __global__ void mma_k16_float(const unsigned* a, const unsigned* b, const float* c,
                                     float* d) {
  const unsigned* mine = a + threadIdx.x * 4;
  const unsigned* other = b + threadIdx.x * 2;
  const float* add = c + threadIdx.x * 4;
  float sum[4] = {add[0], add[1], add[2], add[3]};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(mine[0]), "r"(mine[1]), "r"(mine[2]), "r"(mine[3]), "r"(other[0]), "r"(other[1]));
  for (int i = 0; i < 4; ++i) d[threadIdx.x * 4 + i] = sum[i];
}

static __global__ void mma_k8_float(const unsigned* a, const unsigned* b, const float* c,
                                    float* d) {
  const unsigned* mine = a + threadIdx.x * 2;
  const float* add = c + threadIdx.x * 4;
  float* sum = d + threadIdx.x * 4;
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%7,%8,%9,%10};"
      : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
      : "r"(mine[0]), "r"(mine[1]), "r"(b[threadIdx.x]), "f"(add[0]), "f"(add[1]), "f"(add[2]),
        "f"(add[3]));
}

static __global__ void mma_k8_tf32(const float* a, const float* b, const float* c, float* d) {
  unsigned mine[4];
  unsigned other[2];
  for (int i = 0; i < 4; ++i)
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(mine[i]) : "f"(a[threadIdx.x * 4 + i]));
  for (int i = 0; i < 2; ++i)
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(other[i]) : "f"(b[threadIdx.x * 2 + i]));
  const float* add = c + threadIdx.x * 4;
  float* sum = d + threadIdx.x * 4;
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};"
      : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
      : "r"(mine[0]), "r"(mine[1]), "r"(mine[2]), "r"(mine[3]), "r"(other[0]), "r"(other[1]),
        "f"(add[0]), "f"(add[1]), "f"(add[2]), "f"(add[3]));
}

/// C and D are halves, two in a word.
static __global__ void mma_k16_half(const unsigned* a, const unsigned* b, const unsigned* c,
                                    unsigned* d) {
  const unsigned* mine = a + threadIdx.x * 4;
  const unsigned* other = b + threadIdx.x * 2;
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, "
      "{%8,%9};"
      : "=r"(d[threadIdx.x * 2]), "=r"(d[threadIdx.x * 2 + 1])
      : "r"(mine[0]), "r"(mine[1]), "r"(mine[2]), "r"(mine[3]), "r"(other[0]), "r"(other[1]),
        "r"(c[threadIdx.x * 2]), "r"(c[threadIdx.x * 2 + 1]));
}

/// Loads the 32 rows of 8 halves of `from`, in all forms: seven words a lane with and seven without
/// .trans, for 1, 2 and 4 matrices.
static __global__ void load_matrices(const half* from, unsigned* to) {
  __shared__ __align__(16) half tile[32 * 8];
  for (int i = 0; i < 8; ++i) tile[threadIdx.x * 8 + i] = from[threadIdx.x * 8 + i];
  __syncwarp();
  unsigned row;  // the way of older code
  asm("{ .reg .u64 address; cvta.to.shared.u64 address, %1; cvt.u32.u64 %0, address; }"
      : "=r"(row)
      : "l"(tile + threadIdx.x * 8));
  const auto same = static_cast<unsigned>(__cvta_generic_to_shared(tile)) + threadIdx.x * 16;
  unsigned* words = to + threadIdx.x * 14;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(words[0]) : "r"(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(words[1]), "=r"(words[2])
               : "r"(same));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(words[3]), "=r"(words[4]), "=r"(words[5]), "=r"(words[6])
               : "r"(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
               : "=r"(words[7])
               : "r"(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(words[8]), "=r"(words[9])
               : "r"(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(words[10]), "=r"(words[11]), "=r"(words[12]), "=r"(words[13])
               : "r"(row));
}

/// Each thread copies 16, 8 and 4 bytes in two groups; the last copy reads only 4 of its 8 bytes.
static __global__ void copy_in_groups(const unsigned* from, unsigned* to) {
  __shared__ __align__(16) unsigned tile[64][8];
  unsigned* mine = tile[threadIdx.x];
  const unsigned* source = from + threadIdx.x * 8;
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(mine));
  asm volatile("cp.async.cg.shared.global [%0], [%1], %2;" ::"r"(address), "l"(source), "n"(16));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.ca.shared.global [%0 + 16], [%1 + 16], 8;" ::"r"(address), "l"(source));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(address + 24), "l"(source + 6),
               "r"(4));
  asm volatile("cp.async.commit_group;\n" ::: "memory");
  asm volatile("cp.async.wait_group 1;\n" ::: "memory");
  asm volatile("bar.sync 0;");
  const unsigned* other = tile[threadIdx.x ^ 1U];
  for (int i = 0; i < 4; ++i) to[threadIdx.x * 8 + i] = other[i];
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int i = 4; i < 8; ++i) to[threadIdx.x * 8 + i] = other[i];
}

__device__ inline unsigned pack(float low, float high) {
  unsigned both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

static __global__ void convert_pairs(const float* from, unsigned* to) {
  to[threadIdx.x] = pack(from[threadIdx.x * 2], from[threadIdx.x * 2 + 1]);
}

/// Copies 32 bytes a thread by loads and stores with hints.
static __global__ void copy_with_hints(const float* from, float* to) {
  const float* source = from + threadIdx.x * 8;
  float* target = to + threadIdx.x * 8;
  float4 four;
  float2 two;
  float one;
  unsigned bits;
  asm volatile("prefetch.global.L2 [%0];" ::"l"(source + 4));
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
               : "l"(source));
  asm volatile("ld.global.nc.v2.f32 {%0,%1}, [%2+16];" : "=f"(two.x), "=f"(two.y) : "l"(source));
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(one) : "l"(source + 6));
  asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(bits) : "l"(source + 7));
  asm volatile("st.global.cs.v4.f32 [%0], {%1,%2,%3,%4};" ::"l"(target), "f"(four.x), "f"(four.y),
               "f"(four.z), "f"(four.w));
  asm volatile("st.global.wt.v2.f32 [%0 + 16], {%1,%2};" ::"l"(target), "f"(two.x), "f"(two.y));
  asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(target + 6), "f"(one));
  asm volatile("st.global.wt.b32 [%0], %1;" ::"l"(target + 7), "r"(bits) : "memory");
}

static __global__ void compute(unsigned* out, unsigned a, int b) {
  asm("bfe.u32 %0, %1, 4, 8;" : "=r"(out[0]) : "r"(a));
  asm("bfi.b32 %0, %1, %2, 4, 4;" : "=r"(out[1]) : "r"(0xfU), "r"(a));
  asm("lop3.b32 %0, %1, 5, 6, 0x96;" : "=r"(out[2]) : "r"(a));
  asm("{ .reg .s32 t; shr.s32 t, %1, 3; mov.b32 %0, t; }" : "=r"(out[3]) : "r"(b));
  asm("shl.b32 %0, %1, 31;" : "=r"(out[4]) : "r"(a));
  asm("shl.b32 %0, %1, 32;" : "=r"(out[5]) : "r"(a));
  float nine;
  asm("fma.rn.f32 %0, %1, %1, %2;" : "=f"(nine) : "f"(2.0F), "f"(5.0F));
  out[6] = static_cast<unsigned>(nine);
  asm("mul.hi.s32 %0, %1, 2;" : "=r"(out[7]) : "r"(b));
  asm("bfe.s32 %0, %1, 4, 8;" : "=r"(out[10]) : "r"(a));
  __shared__ unsigned words[2];
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(words));
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(at), "r"(6U), "r"(7U) : "memory");
  asm volatile("" ::: "memory");
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(out[8]), "=r"(out[9]) : "r"(at));
}

}  // namespace convlab::features
