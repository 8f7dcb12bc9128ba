// The course's interface of FA20: one function, pointers to host memory, as a student may have
// written it. The kernel is that of with_stride.cu (test_custom_submission.cpp).
__host__ void GPUInterface::conv_forward_gpu(float* host_y, const float* host_x,
                                             const float* host_k, const int B, const int M,
                                             const int C, const int H, const int W, const int K) {
  const int H_out = H - K + 1;
  const int W_out = W - K + 1;
  const size_t y_bytes = sizeof(float) * B * M * H_out * W_out;
  const size_t x_bytes = sizeof(float) * B * C * H * W;
  const size_t k_bytes = sizeof(float) * M * C * K * K;
  float *device_y, *device_x, *device_k;
  cudaMalloc(&device_y, y_bytes);
  cudaMalloc(&device_x, x_bytes);
  cudaMalloc(&device_k, k_bytes);
  cudaMemcpy(device_x, host_x, x_bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(device_k, host_k, k_bytes, cudaMemcpyHostToDevice);
  const int tiles = std::ceil(H_out / float(TILE_WIDTH)) * std::ceil(W_out / float(TILE_WIDTH));
  conv_forward_kernel<<<dim3(M, tiles, B), dim3(TILE_WIDTH, TILE_WIDTH)>>>(
      device_y, device_x, device_k, B, M, C, H, W, K);
  cudaMemcpy(host_y, device_y, y_bytes, cudaMemcpyDeviceToHost);
  cudaFree(device_y);
  cudaFree(device_x);
  cudaFree(device_k);
}
