// Inline PTX: products of the tensor cores, matrix loads, asynchronous copies, conversions, hints.

#include <vector>

#include "common/emulation/tests/inline_ptx_kernels.cuh"
#include "common/emulation/tests/features/sweep.hpp"

namespace convlab::features {
namespace {

constexpr const char* kGroup = "inline PTX";

/// Whole numbers from -4 to 4 in halves, two in a word: every order of summation is exact.
std::vector<unsigned> small_halves(std::size_t words, unsigned seed) {
  std::vector<unsigned> values;
  const auto one = [&](std::size_t i) {
    const auto value = static_cast<int>(mix(static_cast<std::uint32_t>(i) + seed) % 9U) - 4;
    const half number = __float2half(static_cast<float>(value));
    unsigned short bits;
    std::memcpy(&bits, &number, sizeof bits);
    return static_cast<unsigned>(bits);
  };
  for (std::size_t i = 0; i < words; ++i) values.push_back(one(2 * i) | one(2 * i + 1) << 16U);
  return values;
}

std::vector<float> small_floats(std::size_t count, unsigned seed) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(
        static_cast<float>(static_cast<int>(mix(static_cast<std::uint32_t>(i) + seed) % 9U) - 4));
  }
  return values;
}

template <class T, class Kernel>
Bits product(Kernel kernel, const std::vector<T>& a, const std::vector<T>& b) {
  DeviceArray<T> device_a(a);
  DeviceArray<T> device_b(b);
  DeviceArray<float> c(small_floats(128, 3));
  DeviceArray<float> d(128);
  kernel<<<1, 32>>>(device_a.data(), device_b.data(), c.data(), d.data());
  return d.bits();
}

Bits half_k16() {
  return product<unsigned>(&mma_k16_float, small_halves(128, 1), small_halves(64, 2));
}
Bits half_k8() {
  return product<unsigned>(&mma_k8_float, small_halves(64, 1), small_halves(32, 2));
}
Bits tf32_k8() {
  return product<float>(&mma_k8_tf32, small_floats(128, 1), small_floats(64, 2));
}

Bits half_sums() {
  DeviceArray<unsigned> a(small_halves(128, 1));
  DeviceArray<unsigned> b(small_halves(64, 2));
  DeviceArray<unsigned> c(small_halves(64, 3));
  DeviceArray<unsigned> d(64);
  mma_k16_half<<<1, 32>>>(a.data(), b.data(), c.data(), d.data());
  return d.bits();
}

Bits matrix_loads() {
  std::vector<half> rows;
  for (int i = 0; i < 256; ++i) rows.push_back(__float2half(static_cast<float>(i)));
  return results_from(rows, load_matrices, 1, 32, 32 * 14);
}

Bits copies() {
  std::vector<unsigned> values;
  for (unsigned i = 0; i < 512; ++i) values.push_back(mix(i));
  return results_from(values, copy_in_groups, 1, 64, 512);
}

Bits conversions() {
  return results_from(some_floats(512, -70000.0F, 70000.0F), convert_pairs, 1, 256, 256);
}

Bits hints() {
  return results_from(some_floats(512), copy_with_hints, 1, 64, 512);
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
const Register kHalf16{kGroup, "mma.sync m16n8k16 half, float sums", &half_k16};
const Register kHalf8{kGroup, "mma.sync m16n8k8 half, float sums", &half_k8};
const Register kTf32{kGroup, "cvt.rna.tf32, mma.sync m16n8k8 TF32", &tf32_k8};
const Register kHalfSums{kGroup, "mma.sync m16n8k16 half, half sums", &half_sums};
const Register kLoads{kGroup, "ldmatrix x1, x2, x4, .trans; cvta", &matrix_loads};
const Register kCopies{kGroup, "cp.async, commit_group, wait_group, wait_all; bar.sync", &copies};
const Register kConversions{kGroup, "cvt.rn.f16x2.f32", &conversions};
const Register kHints{kGroup, "ld.global, st.global with cache hints, prefetch", &hints};

}  // namespace
}  // namespace convlab::features
