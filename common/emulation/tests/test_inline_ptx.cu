// Inline PTX against plain loops: which lane holds what follows from the PTX ISA ("Matrix
// fragments"), written down here once more.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/emulation/tests/fault_reports.hpp"
#include "common/emulation/tests/features/feature.hpp"
#include "common/emulation/tests/inline_ptx_kernels.cuh"

namespace {

using namespace convlab::features;
using convlab::emulation::Reports;

constexpr int kLanes = 32;

struct Place {
  int row;
  int column;
};

// Elements of a lane, `per_word` to a register; group = lane / 4 and thread = lane % 4 in the ISA.
Place in_a(int lane, int element, int per_word) {
  const int reg = element / per_word;
  return {lane / 4 + reg % 2 * 8,
          lane % 4 * per_word + element % per_word + reg / 2 * 4 * per_word};
}
Place in_b(int lane, int element, int per_word) {
  const int reg = element / per_word;
  return {lane % 4 * per_word + element % per_word + reg * 4 * per_word, lane / 4};
}
Place in_c(int lane, int element) {
  return {lane / 4 + element / 2 * 8, lane % 4 * 2 + element % 2};
}

float value_of(int i) {
  return static_cast<float>(static_cast<int>(mix(i) % 9U) - 4);
}

/// Dense matrices of whole numbers, dealt out to the lanes, and their product.
template <class T>
struct Problem {
  Problem(int depth, int per_word)
      : k(depth),
        a(16 * depth),
        b(depth * 8),
        c(128),
        d(128),
        lanes_a(16 * depth),
        lanes_b(depth * 8),
        lanes_c(128),
        lanes_d(128) {
    for (int i = 0; i < 16 * k; ++i) a[i] = value_of(i);
    for (int i = 0; i < k * 8; ++i) b[i] = value_of(i + 1000);
    for (int i = 0; i < 128; ++i) c[i] = value_of(i + 2000);
    for (int m = 0; m < 16; ++m)
      for (int n = 0; n < 8; ++n) {
        d[m * 8 + n] = c[m * 8 + n];
        for (int i = 0; i < k; ++i) d[m * 8 + n] += a[m * k + i] * b[i * 8 + n];
      }
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int i = 0; i < k / 2; ++i) {
        const Place place = in_a(lane, i, per_word);
        lanes_a[lane * k / 2 + i] = T(a[place.row * k + place.column]);
      }
      for (int i = 0; i < k / 4; ++i) {
        const Place place = in_b(lane, i, per_word);
        lanes_b[lane * k / 4 + i] = T(b[place.row * 8 + place.column]);
      }
      for (int i = 0; i < 4; ++i) {
        const Place place = in_c(lane, i);
        lanes_c[lane * 4 + i] = c[place.row * 8 + place.column];
        lanes_d[lane * 4 + i] = d[place.row * 8 + place.column];
      }
    }
  }

  int k;
  std::vector<float> a, b, c, d;
  std::vector<T> lanes_a, lanes_b;
  std::vector<float> lanes_c, lanes_d;
};

template <class To, class From>
std::vector<To> reinterpreted(const std::vector<From>& from) {
  std::vector<To> to(from.size() * sizeof(From) / sizeof(To));
  std::memcpy(static_cast<void*>(to.data()), from.data(), from.size() * sizeof(From));
  return to;
}

template <class Word, class Kernel, class T>
void check_product(Kernel kernel, const Problem<T>& problem) {
  DeviceArray<Word> a(reinterpreted<Word>(problem.lanes_a));
  DeviceArray<Word> b(reinterpreted<Word>(problem.lanes_b));
  DeviceArray<float> c(problem.lanes_c);
  DeviceArray<float> d(128);
  kernel<<<1, 32>>>(a.data(), b.data(), c.data(), d.data());
  CHECK(d.values() == problem.lanes_d);
}

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

__global__ void forget_to_wait(const unsigned* from, unsigned* out) {
  __shared__ __align__(16) unsigned tile[32];
  tile[threadIdx.x] = 7;
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(from + threadIdx.x));
  asm volatile("cp.async.commit_group;");
  out[threadIdx.x] = tile[threadIdx.x];
  asm volatile("cp.async.wait_group 0;");
  out[threadIdx.x + 32] = tile[threadIdx.x];
}

__global__ void meet_in_part_of_a_warp() {
  asm volatile("bar.sync 1, 40;");
}

}  // namespace

TEST_CASE("inline PTX: a numbered barrier is for whole warps") {
  Reports reports;
  meet_in_part_of_a_warp<<<1, 64>>>();
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalInstruction);
  CHECK(reports.has("for whole warps of 32 threads"));
}

TEST_CASE("inline PTX: products are those of dense matrices") {
  check_product<unsigned>(&mma_k16_float, Problem<half>(16, 2));
  check_product<unsigned>(&mma_k8_float, Problem<half>(8, 2));
  check_product<float>(&mma_k8_tf32, Problem<float>(8, 1));
}

TEST_CASE("inline PTX: a product with sums in halves") {
  const Problem<half> problem(16, 2);
  std::vector<half> c;
  for (const float value : problem.lanes_c) c.push_back(half(value));
  DeviceArray<unsigned> a(reinterpreted<unsigned>(problem.lanes_a));
  DeviceArray<unsigned> b(reinterpreted<unsigned>(problem.lanes_b));
  DeviceArray<unsigned> device_c(reinterpreted<unsigned>(c));
  DeviceArray<unsigned> d(64);
  mma_k16_half<<<1, 32>>>(a.data(), b.data(), device_c.data(), d.data());
  const std::vector<half> sums = reinterpreted<half>(d.values());
  for (std::size_t i = 0; i < sums.size(); ++i) CHECK(float(sums[i]) == problem.lanes_d[i]);
}

TEST_CASE("inline PTX: ldmatrix deals rows, or columns, out to the lanes") {
  std::vector<half> rows;
  for (int i = 0; i < 256; ++i) rows.push_back(half(static_cast<float>(i)));
  DeviceArray<half> from(rows);
  DeviceArray<unsigned> to(32 * 14);
  load_matrices<<<1, 32>>>(from.data(), to.data());
  const std::vector<half> halves = reinterpreted<half>(to.values());
  const int matrix_of_word[] = {0, 0, 1, 0, 1, 2, 3};
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int word = 0; word < 14; ++word) {
      for (int i = 0; i < 2; ++i) {
        const int matrix = matrix_of_word[word % 7];
        const int along = lane % 4 * 2 + i;
        const int across = lane / 4;
        const int element = word < 7 ? across * 8 + along : along * 8 + across;
        CHECK(float(halves[(lane * 14 + word) * 2 + i]) ==
              static_cast<float>(matrix * 64 + element));
      }
    }
  }
}

TEST_CASE("inline PTX: asynchronous copies arrive when they are waited for") {
  std::vector<unsigned> values;
  for (unsigned i = 0; i < 512; ++i) values.push_back(mix(i));
  DeviceArray<unsigned> from(values);
  DeviceArray<unsigned> to(512);
  copy_in_groups<<<1, 64>>>(from.data(), to.data());
  const std::vector<unsigned> got = to.values();
  for (unsigned i = 0; i < 512; ++i) {
    CAPTURE(i);
    CHECK(got[i] == (i % 8 == 7 ? 0 : values[i ^ 8U]));  // of the last copy only 4 bytes are read
  }

  DeviceArray<unsigned> early(64);
  forget_to_wait<<<1, 32>>>(from.data(), early.data());
  for (unsigned i = 0; i < 32; ++i) {
    CHECK(early.values()[i] == 7);
    CHECK(early.values()[i + 32] == values[i]);
  }
}

TEST_CASE("inline PTX: conversions and hinted loads and stores") {
  const std::vector<float> floats = some_floats(512);
  DeviceArray<float> from(floats);
  DeviceArray<unsigned> packed(256);
  convert_pairs<<<1, 256>>>(from.data(), packed.data());
  const std::vector<half> halves = reinterpreted<half>(packed.values());
  for (std::size_t i = 0; i < floats.size(); ++i) CHECK(float(halves[i]) == float(half(floats[i])));
  DeviceArray<float> to(512);
  copy_with_hints<<<1, 64>>>(from.data(), to.data());
  CHECK(to.values() == floats);
}

TEST_CASE("inline PTX: arithmetic, shared memory and empty statements") {
  DeviceArray<unsigned> out(11);
  compute<<<1, 1>>>(out.data(), 0xabcdU, -70);
  CHECK(out.values() == std::vector<unsigned>{0xbcU, 0xabfdU, 0xabcdU ^ 5U ^ 6U, 0xfffffff7U,
                                              0x80000000U, 0U, 9U, 0xffffffffU, 6U, 7U,
                                              0xffffffbcU});
}

TEST_CASE("inline PTX: a generic address is none of shared memory") {
  unsigned* data = nullptr;
  REQUIRE(cudaMalloc(&data, 512) == cudaSuccess);
  Reports reports;
  load_from_generic_address<<<1, 32>>>(data);
  CHECK(cudaDeviceSynchronize() == cudaErrorInvalidAddressSpace);
  CHECK(reports.has("with .shared take what __cvta_generic_to_shared(pointer) returns"));
}

TEST_CASE("inline PTX: a copy must be aligned") {
  unsigned* data = nullptr;
  REQUIRE(cudaMalloc(&data, 512) == cudaSuccess);
  Reports reports;
  copy_misaligned<<<1, 32>>>(data, data + 64);
  CHECK(cudaDeviceSynchronize() == cudaErrorMisalignedAddress);
  CHECK(reports.has("is not aligned to the 16 bytes of the copy"));
}

TEST_CASE("inline PTX: a product needs the whole warp") {
  unsigned* data = nullptr;
  REQUIRE(cudaMalloc(&data, 512) == cudaSuccess);
  Reports reports;
  half_a_warp<<<1, 32>>>(data);
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
  CHECK(reports.has("mma_sync needs all 32 lanes of the warp"));
}
