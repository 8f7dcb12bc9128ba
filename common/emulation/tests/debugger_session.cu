// The test debugger_session stops in this program. CMakeLists.txt holds its line numbers.

#include <cstdio>

namespace {

__global__ void reverse_squares(float* data) {
  __shared__ float tile[8];
  const unsigned t = threadIdx.x;
  tile[t] = data[t];
  __syncthreads();
  const float value = tile[7 - t];
  data[t] = value * value;
}

}  // namespace

int main() {
  float host[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  float* data = nullptr;
  cudaMalloc(&data, sizeof host);
  cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice);
  reverse_squares<<<1, 8>>>(data);
  cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%g\n", host[0]);
  return host[0] == 49 ? 0 : 1;
}
