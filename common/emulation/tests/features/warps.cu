// Shuffles, votes, matches, reductions, atomics.

#include "common/emulation/tests/features/sweep.hpp"

namespace convlab::features {
namespace {

constexpr unsigned kFull = 0xffffffffU;

__global__ void shuffles(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  const int value = lane * lane + 1;
  int* mine = out + lane * 8;
  mine[0] = __shfl_sync(kFull, value, 5);
  mine[1] = __shfl_sync(kFull, value, lane + 3);
  mine[2] = __shfl_up_sync(kFull, value, 3);
  mine[3] = __shfl_down_sync(kFull, value, 6);
  mine[4] = __shfl_xor_sync(kFull, value, 21);
  mine[5] = __shfl_up_sync(kFull, value, 2, 8);
  mine[6] = __shfl_down_sync(kFull, value, 2, 8);
  mine[7] = __shfl_xor_sync(kFull, value, 12, 8);
}

const Register kShuffles{"warps", "__shfl_sync, _up, _down, _xor with widths",
                         [] { return results_of(shuffles, 1, 32, 32 * 8); }};

__global__ void wide_shuffles(double* doubles, long long* longs, float* floats) {
  const int lane = static_cast<int>(threadIdx.x);
  doubles[lane] = __shfl_down_sync(kFull, lane * 0.1, 1);
  longs[lane] = __shfl_xor_sync(kFull, static_cast<long long>(lane) << 40, 1);
  floats[lane] = __shfl_up_sync(kFull, static_cast<float>(lane) * 0.3F, 1);
}

const Register kWide{"warps", "shuffles of 64-bit types and float", [] {
  DeviceArray<double> doubles(32);
  DeviceArray<long long> longs(32);
  DeviceArray<float> floats(32);
  wide_shuffles<<<1, 32>>>(doubles.data(), longs.data(), floats.data());
  Bits bits = doubles.bits();
  for (const Bits& more : {longs.bits(), floats.bits()}) bits.insert(bits.end(), more.begin(), more.end());
  return bits;
}};

__global__ void votes(unsigned* out) {
  const unsigned lane = threadIdx.x;
  unsigned* mine = out + lane * 6;
  mine[0] = __ballot_sync(kFull, lane % 3 == 1);
  mine[1] = static_cast<unsigned>(__any_sync(kFull, lane == 9) != 0);
  mine[2] = static_cast<unsigned>(__all_sync(kFull, lane < 40) != 0);
  mine[3] = static_cast<unsigned>(__all_sync(kFull, lane < 31) != 0);
  mine[4] = __match_any_sync(kFull, lane % 5);
  int all = 0;
  mine[5] = __match_all_sync(kFull, lane / 32, &all) + static_cast<unsigned>(all);
}

const Register kVotes{"warps", "__ballot_sync, _any, _all, __match_any_sync, _all",
                      [] { return results_of(votes, 1, 32, 32 * 6); }};

__global__ void partial_masks(unsigned* out) {
  const unsigned lane = threadIdx.x;
  if (lane < 12) {
    out[lane] = __ballot_sync(0x00000fffU, lane & 1);
  } else {
    unsigned sum = lane;
    for (int offset = 1; offset < 4; offset *= 2)
      sum += __shfl_xor_sync(0xfffff000U, sum, offset, 4);
    out[lane] = sum;
  }
  __syncwarp();
  out[lane] += __shfl_sync(kFull, lane, 31 - static_cast<int>(lane));
}

const Register kPartial{"warps", "masks of a part of the warp",
                        [] { return results_of(partial_masks, 1, 32, 32); }};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__global__ void reductions(unsigned* out) {
  const unsigned lane = threadIdx.x;
  const int signed_value = static_cast<int>(lane * 2654435761U);
  unsigned* mine = out + lane * 8;
  mine[0] = __reduce_add_sync(kFull, lane * 77U);
  mine[1] = __reduce_min_sync(kFull, lane * 2654435761U);
  mine[2] = __reduce_max_sync(kFull, lane * 2654435761U);
  mine[3] = __reduce_and_sync(kFull, lane | 0xf0U);
  mine[4] = __reduce_or_sync(kFull, lane << 3);
  mine[5] = __reduce_xor_sync(kFull, lane * lane);
  mine[6] = static_cast<unsigned>(__reduce_min_sync(kFull, signed_value));
  mine[7] = static_cast<unsigned>(__reduce_max_sync(kFull, signed_value));
}
#else
__global__ void reductions(unsigned*) {}
#endif

const Register kReductions{"warps", "__reduce_*_sync",
                           [] { return results_of(reductions, 1, 32, 32 * 8); }};

__global__ void active_lanes(unsigned* out) {
  out[threadIdx.x] = 0;
  if (threadIdx.x % 4 == 2) out[threadIdx.x] = __activemask();
}

const Register kActive{"warps", "__activemask in a branch",
                       [] { return results_of(active_lanes, 1, 32, 32); }};

// ---- atomics ------------------------------------------------------------------------------------

__global__ void histogram(const unsigned* in, unsigned* bins, int n) {
  __shared__ unsigned local[16];
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n;
       i += static_cast<int>(gridDim.x * blockDim.x))
    atomicAdd(&local[in[i] % 16], 1U);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

const Register kHistogram{"atomics", "atomicAdd on shared and global memory", [] {
  std::vector<unsigned> values(10000);
  for (unsigned i = 0; i < 10000; ++i) values[i] = mix(i);
  return results_from(values, histogram, 8, 128, 16, 10000);
}};

__global__ void integer_atomics(int* i, unsigned* u, unsigned long long* l) {
  const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&i[0], t);
  atomicSub(&i[1], t);
  atomicMin(&i[2], 500 - t);
  atomicMax(&i[3], t * 3 % 1001);
  atomicAnd(&u[0], ~(1U << (t % 16)));
  atomicOr(&u[1], 1U << (t % 24));
  atomicXor(&u[2], static_cast<unsigned>(t) * 2654435761U);
  atomicInc(&u[3], 99);
  atomicDec(&u[4], 77);
  atomicAdd(&l[0], 1ULL << 33);
  atomicMax(&l[1], static_cast<unsigned long long>(t) << 35);
}

const Register kIntegers{"atomics", "integers, 32 and 64 bits", [] {
  DeviceArray<int> i(4);
  DeviceArray<unsigned> u(std::vector<unsigned>{~0U, 0, 0, 0, 0});
  DeviceArray<unsigned long long> l(2);
  integer_atomics<<<10, 100>>>(i.data(), u.data(), l.data());
  Bits bits = i.bits();
  for (const Bits& more : {u.bits(), l.bits()}) bits.insert(bits.end(), more.begin(), more.end());
  return bits;
}};

__global__ void float_atomics(float* f, double* d) {
  atomicAdd(f, 0.25F * static_cast<float>(threadIdx.x % 8));
  atomicAdd(d, 0.125 * (blockIdx.x + 1));
}

const Register kFloats{"atomics", "float and double sums (exact values)", [] {
  DeviceArray<float> f(1);
  DeviceArray<double> d(1);
  float_atomics<<<20, 64>>>(f.data(), d.data());
  Bits bits = f.bits();
  const Bits more = d.bits();
  bits.insert(bits.end(), more.begin(), more.end());
  return bits;
}};

__global__ void maximum_by_cas(int* slot, const float* in) {
  const float value = in[blockIdx.x * blockDim.x + threadIdx.x];
  int old = *slot;
  while (__int_as_float(old) < value) {
    const int assumed = old;
    old = atomicCAS(slot, assumed, __float_as_int(value));
    if (old == assumed) break;
  }
  atomicExch(slot + 1, 42);
}

const Register kCas{"atomics", "atomicCAS and atomicExch", [] {
  DeviceArray<float> in(some_floats(1000));
  return results_of(maximum_by_cas, 10, 100, 2, in.data());
}};

__global__ void float_sum_in_any_order(float* sum, const float* in) {
  atomicAdd(sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
}

const Register kOrder{"atomics", "float sums that round", Agreement::kDiffers,
                      "summed in grid order, the same on any number of cores; a GPU's order is its own", [] {
  DeviceArray<float> in(some_floats(10000));
  return results_of(float_sum_in_any_order, 100, 100, 1, in.data());
}};

}  // namespace
}  // namespace convlab::features
