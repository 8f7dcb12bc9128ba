// Bugs that AddressSanitizer or UndefinedBehaviorSanitizer finds in an emulated kernel, where the
// ordinary build may see nothing: sanitized_bugs CASE. ctest looks for the sanitizer's words.

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

enum Bug { kNone, kStaticShared, kDynamicShared, kDevice, kNextVariable, kLocal, kDivision };

__global__ void run(float* data, int bug, int last) {
  __shared__ float tile[30];
  __shared__ float other[30];
  extern __shared__ float dynamic[];
  const int t = static_cast<int>(threadIdx.x);
  // Allocations of a program that reads 16 bytes at once end at a multiple of 16: only the address
  // sanitizer sees a read a little further. In others, any build does.
  const float4 four = *reinterpret_cast<const float4*>(data);
  float local[4] = {1, 2, 3, four.w};
  if (t < 30) tile[t] = other[t] = data[t];
  dynamic[t] = static_cast<float>(t);
  __syncthreads();
  // Pointers: only the address sanitizer knows their bounds.
  const float* const first = tile;
  const float* const second = other;
  float value = first[29 - t % 30] + __shfl_xor_sync(0xffffffffU, dynamic[t], 1);
  if (t == 3) {
    if (bug == kStaticShared) value += second[last];
    if (bug == kDynamicShared) value += dynamic[last + 3];
    if (bug == kDevice) value += data[last + 3];
    if (bug == kNextVariable) value += first[last];
    if (bug == kLocal) value += local[last];
    if (bug == kDivision) value += static_cast<float>(7 / (last - 30));
  }
  __syncthreads();
  data[t] = value;
}

}  // namespace

int main(int argc, char** argv) {
  const int bug = argc == 2 ? std::atoi(argv[1]) : kNone;
  float* data = nullptr;
  cudaMalloc(&data, 33 * sizeof(float));
  cudaMemset(data, 0, 33 * sizeof(float));
  for (int i = 0; i < 3; ++i) run<<<4, 32, 33 * sizeof(float)>>>(data, bug, 30);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorString(error));
  cudaFree(data);
  return error == cudaSuccess ? 0 : 1;
}
