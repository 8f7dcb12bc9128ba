// Geometry, shared memory and barriers.

#include "common/emulation/tests/features/sweep.hpp"

namespace convlab::features {
namespace {

__global__ void write_geometry(uint4* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] =
      make_uint4(threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16,
                 blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16, gridDim.x * gridDim.y * gridDim.z,
                 blockDim.y * 100 + static_cast<unsigned>(warpSize));
}

const Register kGeometry{"threads", "indices and sizes of grid and block", [] {
  return results_of(write_geometry, dim3(2, 3, 4), dim3(5, 6, 7), 2 * 3 * 4 * 5 * 6 * 7);
}};

__global__ void transpose(const float* in, float* out) {
  __shared__ float tile[32][33];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

const Register kStatic{"shared memory", "static arrays", [] {
  return results_from(some_floats(1024), transpose, 1, dim3(32, 32), 1024);
}};

template <typename T>
__global__ void reverse(T* data, int n) {
  extern __shared__ __align__(16) unsigned char bytes[];
  T* shared = reinterpret_cast<T*>(bytes);
  shared[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = shared[n - 1 - static_cast<int>(threadIdx.x)];
}

const Register kDynamic{"shared memory", "dynamic arrays", [] {
  DeviceArray<float> data(some_floats(256));
  reverse<<<1, 256, 256 * sizeof(float)>>>(data.data(), 256);
  return data.bits();
}};

struct Record {
  int key;
  double weight;
};

__global__ void structures(Record* out) {
  __shared__ Record records[64];
  __shared__ int count, last;
  if (threadIdx.x == 0) count = 64;
  if (threadIdx.x == 63) last = 5;
  records[threadIdx.x].key = static_cast<int>(threadIdx.x) * 2;
  records[threadIdx.x].weight = threadIdx.x * 0.125;
  __syncthreads();
  const Record r = records[(threadIdx.x + 5) % static_cast<unsigned>(count)];
  out[threadIdx.x].key = r.key + last;
  out[threadIdx.x].weight = r.weight;
}

const Register kStructures{"shared memory", "structures and several variables", [] {
  DeviceArray<Record> out(64);
  structures<<<1, 64>>>(out.data());
  Bits bits;
  for (const Record& r : out.values()) {
    bits.push_back(static_cast<std::uint32_t>(r.key));
    bits.push_back(static_cast<std::uint32_t>(r.weight * 8));
  }
  return bits;
}};

// ---- barriers -----------------------------------------------------------------------------------

__global__ void predicates(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  const int count = __syncthreads_count(t % 3 == 0);
  const int all = __syncthreads_and(t < 1000);
  const int all_but_one = __syncthreads_and(t != 13);
  const int any = __syncthreads_or(t == 13);
  const int none = __syncthreads_or(t > 1000);
  out[t] = count * 10000 + (all != 0) * 1000 + (all_but_one != 0) * 100 + (any != 0) * 10 + (none != 0);
}

const Register kPredicates{"barriers", "__syncthreads_count, _and, _or",
                           [] { return results_of(predicates, 1, 100, 100); }};

__global__ void leave_early(int* out) {
  __shared__ int shared[256];
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (threadIdx.x >= 192) return;  // whole warps leave
  __syncthreads();
  out[threadIdx.x] = shared[191 - threadIdx.x];
}

const Register kEarly{"barriers", "warps that return before a barrier",
                      [] { return results_of(leave_early, 1, 256, 192); }};

}  // namespace
}  // namespace convlab::features
