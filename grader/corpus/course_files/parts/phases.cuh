// Prolog and epilog of the form without a stride, or with one (phases_with_stride.cuh): allocate,
// copy in, copy out, free.
// A file may work at the end of prolog or epilog, and defines the rest: CONV_FORWARD_GPU { … }
#ifndef WITH_STRIDE
#define WITH_STRIDE
#define OUTPUT_SIDE(side) (side - K + 1)
#endif
#define CONV_FORWARD_GPU                                                                           \
  void GPUInterface::conv_forward_gpu(float* device_output, ARRAY device_input,                    \
  ARRAY device_mask, const int B, const int M, const int C,                                        \
  const int H, const int W, const int K WITH_STRIDE)
#ifndef ARRAY  // older headers have other types here
#define ARRAY const float*
#define HOST_OUTPUT const float*
#endif
#ifndef AT_END_OF_PROLOG
#define AT_END_OF_PROLOG
#endif
#ifndef AT_END_OF_EPILOG
#define AT_END_OF_EPILOG
#endif
#ifndef INPUT_BYTES
#define INPUT_BYTES (sizeof(float) * B * C * H * W)
#endif
#define OUTPUT_BYTES (sizeof(float) * B * M * OUTPUT_SIDE(H) * OUTPUT_SIDE(W))

void GPUInterface::conv_forward_gpu_prolog(HOST_OUTPUT host_output, ARRAY host_input,
                                           ARRAY host_mask, float** device_output_ptr,
                                           float** device_input_ptr, float** device_mask_ptr,
                                           const int B, const int M, const int C, const int H,
                                           const int W, const int K WITH_STRIDE) {
  cudaMalloc((void**)device_output_ptr, OUTPUT_BYTES);
  cudaMalloc((void**)device_input_ptr, INPUT_BYTES);
  cudaMalloc((void**)device_mask_ptr, sizeof(float) * M * C * K * K);
  cudaMemcpy(*device_input_ptr, host_input, INPUT_BYTES, cudaMemcpyHostToDevice);
  cudaMemcpy(*device_mask_ptr, host_mask, sizeof(float) * M * C * K * K, cudaMemcpyHostToDevice);
  AT_END_OF_PROLOG;
}

void GPUInterface::conv_forward_gpu_epilog(float* host_output, float* device_output,
                                           float* device_input, float* device_mask, const int B,
                                           const int M, const int C, const int H, const int W,
                                           const int K WITH_STRIDE) {
  cudaMemcpy(host_output, device_output, OUTPUT_BYTES, cudaMemcpyDeviceToHost);
  cudaFree(device_output);
  cudaFree(device_input);
  cudaFree(device_mask);
  AT_END_OF_EPILOG;
}
