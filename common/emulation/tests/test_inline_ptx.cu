// Inline PTX that the hardware would refuse, and what features/ cannot compare with a GPU.

#include <cuda_fp16.h>

#include <vector>

#include "common/emulation/tests/fault_reports.hpp"
#include "common/emulation/tests/features/feature.hpp"

namespace {

using convlab::emulation::at_line;
using convlab::emulation::check;
using convlab::features::DeviceArray;

__global__ void load_from_generic_address(unsigned* out) {
  __shared__ __align__(16) unsigned tile[128];
  tile[threadIdx.x] = threadIdx.x;
  __syncwarp();
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
               : "=r"(out[threadIdx.x])
               : "l"(tile));
}

__global__ void copy_misaligned(const unsigned* from, unsigned* out) {
  __shared__ __align__(16) unsigned tile[128];
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(tile)) + 4),
               "l"(from));
  asm volatile("cp.async.wait_all;");
  out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void half_a_warp(unsigned* out) {
  float d[4] = {};
  if (threadIdx.x < 16) return;
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(0u));
  out[threadIdx.x] = static_cast<unsigned>(d[0]);
}

__global__ void meet_in_part_of_a_warp() {
  asm volatile("bar.sync 1, 40;");
}

__global__ void share_words(unsigned* out) {
  __shared__ unsigned words[2];
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(words));
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(at), "r"(6U), "r"(7U) : "memory");
  asm volatile("" ::: "memory");
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(out[0]), "=r"(out[1]) : "r"(at));
}

__global__ void combine_words(unsigned* out) {
  const unsigned a = 0b1111'0000;
  const unsigned b = 0b1100'1100;
  const unsigned c = 0b1010'1010;
  asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(out[0]) : "r"(a), "r"(b), "r"(c));  // of most
  asm("{ .reg .b32 t; not.b32 t, %1; lop3.b32 %0, t, %2, %3, %4; }"
      : "=r"(out[1])
      : "r"(a), "r"(b), "r"(c), "n"(0x2a));
}

__global__ void traps(const unsigned* number) {
  if (*number == 0) asm("trap;");
}
constexpr int kTrapLine = __LINE__ - 2;

unsigned* device_words() {
  return reinterpret_cast<unsigned*>(convlab::emulation::device_integers(128));
}

}  // namespace

TEST_CASE("inline PTX: what the hardware would not take") {
  check({
      {"a numbered barrier for a part of a warp",
       [] { meet_in_part_of_a_warp<<<1, 64>>>(); },
       cudaErrorIllegalInstruction,
       {"for whole warps of 32 threads"}},
      {"a generic address",
       [] { load_from_generic_address<<<1, 32>>>(device_words()); },
       cudaErrorInvalidAddressSpace,
       {"with .shared take what __cvta_generic_to_shared(pointer) returns"}},
      {"a misaligned copy",
       [] { copy_misaligned<<<1, 32>>>(device_words(), device_words()); },
       cudaErrorMisalignedAddress,
       {"is not aligned to the 16 bytes of the copy"}},
      {"a product of half a warp",
       [] { half_a_warp<<<1, 32>>>(device_words()); },
       cudaErrorLaunchFailure,
       {"mma_sync needs all 32 lanes of the warp"}},
      {"a trap",
       [] { traps<<<1, 1>>>(device_words()); },
       cudaErrorLaunchFailure,
       {"the kernel called __trap()", at_line(kTrapLine)}},
  });
}

TEST_CASE("inline PTX: shared memory, and empty statements") {
  DeviceArray<unsigned> out(2);
  share_words<<<1, 1>>>(out.data());
  CHECK(out.values() == std::vector<unsigned>{6U, 7U});
  // The operands hold each way in which three bits may stand: the result is the table itself.
  combine_words<<<1, 1>>>(out.data());
  CHECK(out.values() == std::vector<unsigned>{0xe8U, 0xa2U});
}
