// Inline PTX: products of the tensor cores, matrix loads, asynchronous copies, conversions.

#include <cuda_fp16.h>

#include <vector>

#include "common/emulation/tests/features/sweep.hpp"
#include "common/emulation/tests/features/telling_numbers.hpp"

namespace convlab::features {
namespace {

constexpr const char* kGroup = "inline PTX";

// The lanes' words of A, B, C and D lie one lane after the other.

__global__ void mma_k16_float(const unsigned* a, const unsigned* b, const float* c, float* d) {
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

__global__ void mma_k16_bfloat16(const unsigned* a, const unsigned* b, const float* c, float* d) {
  const unsigned* mine = a + threadIdx.x * 4;
  const unsigned* other = b + threadIdx.x * 2;
  const float* add = c + threadIdx.x * 4;
  float* sum = d + threadIdx.x * 4;
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%11,%12,%13};"
      : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
      : "r"(mine[0]), "r"(mine[1]), "r"(mine[2]), "r"(mine[3]), "r"(other[0]), "r"(other[1]),
        "f"(add[0]), "f"(add[1]), "f"(add[2]), "f"(add[3]));
}

__global__ void mma_k8_float(const unsigned* a, const unsigned* b, const float* c, float* d) {
  const unsigned* mine = a + threadIdx.x * 2;
  const float* add = c + threadIdx.x * 4;
  float* sum = d + threadIdx.x * 4;
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%7,%8,%9,%10};"
      : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
      : "r"(mine[0]), "r"(mine[1]), "r"(b[threadIdx.x]), "f"(add[0]), "f"(add[1]), "f"(add[2]),
        "f"(add[3]));
}

__global__ void mma_k8_tf32(const float* a, const float* b, const float* c, float* d) {
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
__global__ void mma_k16_half(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* d) {
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
__global__ void load_matrices(const half* from, unsigned* to) {
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
__global__ void copy_in_groups(const unsigned* from, unsigned* to) {
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

__device__ unsigned pack(float low, float high) {
  unsigned both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

__global__ void convert_pairs(const float* from, unsigned* to) {
  to[threadIdx.x] = pack(from[threadIdx.x * 2], from[threadIdx.x * 2 + 1]);
}

std::vector<unsigned> halves(std::size_t words, unsigned seed, Numbers kind) {
  std::vector<unsigned> values;
  const auto one = [&](std::size_t i) {
    const half number = __float2half(telling_number(i, seed, kind, true));
    unsigned short bits;
    std::memcpy(&bits, &number, sizeof bits);
    return static_cast<unsigned>(bits);
  };
  for (std::size_t i = 0; i < words; ++i) values.push_back(one(2 * i) | one(2 * i + 1) << 16U);
  return values;
}

std::vector<float> floats(std::size_t count, unsigned seed, Numbers kind) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(telling_number(i, seed, kind, false));
  return values;
}

constexpr Numbers kKinds[] = {Numbers::kUniform, Numbers::kWide, Numbers::kSubnormal,
                              Numbers::kCancelling};

/// A product of each kind of numbers. @param make  makes the words of A and B, make_sums those of C
template <class Kernel, class Make, class MakeSums>
Bits products(Kernel kernel, std::size_t a_words, const Make& make, std::size_t c_words,
              const MakeSums& make_sums) {
  Bits bits;
  for (const Numbers kind : kKinds) {
    DeviceArray a(make(a_words, 1, kind));
    DeviceArray b(make(a_words / 2, 2, kind));
    DeviceArray c(make_sums(c_words, 3, kind));
    DeviceArray d(make_sums(c_words, 3, kind));
    kernel<<<1, 32>>>(a.data(), b.data(), c.data(), d.data());
    const Bits more = d.bits();
    bits.insert(bits.end(), more.begin(), more.end());
  }
  return bits;
}

__global__ void read_special_registers(unsigned* results) {
  unsigned lane = 0;
  unsigned warp = 0;
  unsigned below = 0;
  unsigned block = 0;
  unsigned long long time = 0;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  // A GPU may give a block's warps any numbers.
  results[blockIdx.x * blockDim.x + threadIdx.x] =
      lane + 100 * block + 10000 * static_cast<unsigned>(__popc(below)) + (time > 0 && warp < 64);
}

const Register kSpecial{kGroup, "mov of special registers",
                        [] { return results_of(read_special_registers, 3, 80, 240); }};
const Register kHalf16{kGroup, "mma.sync m16n8k16 half, float sums",
                       [] { return products(&mma_k16_float, 128, halves, 128, floats); }};
const Register kHalf8{kGroup, "mma.sync m16n8k8 half, float sums",
                      [] { return products(&mma_k8_float, 64, halves, 128, floats); }};
const Register kBfloat16{kGroup, "mma.sync m16n8k16 bfloat16, float sums", [] {
                           // The upper halves of floats.
                           const auto pairs = [](std::size_t words, unsigned seed, Numbers kind) {
                             std::vector<unsigned> values;
                             for (std::size_t i = 0; i < words; ++i) {
                               unsigned both[2];
                               const float numbers[2] = {
                                   telling_number(2 * i, seed, kind, false),
                                   telling_number(2 * i + 1, seed, kind, false)};
                               std::memcpy(both, numbers, sizeof both);
                               values.push_back(both[0] >> 16U | (both[1] & 0xffff0000U));
                             }
                             return values;
                           };
                           return products(&mma_k16_bfloat16, 128, pairs, 128, floats);
                         }};
const Register kTf32{kGroup, "cvt.rna.tf32, mma.sync m16n8k8 TF32",
                     [] { return products(&mma_k8_tf32, 128, floats, 128, floats); }};
const Register kHalfSums{kGroup, "mma.sync m16n8k16 half, half sums",
                         [] { return products(&mma_k16_half, 128, halves, 64, halves); }};
const Register kLoads{kGroup, "ldmatrix x1, x2, x4, .trans; cvta", [] {
                        std::vector<half> rows;
                        for (int i = 0; i < 256; ++i)
                          rows.push_back(__float2half(static_cast<float>(i)));
                        return results_from(rows, load_matrices, 1, 32, 32 * 14);
                      }};
const Register kCopies{kGroup, "cp.async, commit_group, wait_group, wait_all; bar.sync", [] {
                         std::vector<unsigned> values;
                         for (unsigned i = 0; i < 512; ++i) values.push_back(mix(i));
                         return results_from(values, copy_in_groups, 1, 64, 512);
                       }};
const Register kConversions{
    kGroup, "cvt.rn.f16x2.f32",
    [] { return results_from(some_floats(512, -70000.0F, 70000.0F), convert_pairs, 1, 256, 256); }};

}  // namespace
}  // namespace convlab::features
