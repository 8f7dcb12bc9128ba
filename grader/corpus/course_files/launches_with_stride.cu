// What surrounds the launch of the plain kernel in the form with a stride.
//
// Runs      emulated gpu

#include "parts/headers.cuh"
#include "parts/plain_kernel.cuh"
#include "parts/phases_with_stride.cuh"

CONV_FORWARD_GPU {
  // Case      ceil_in_both
  // What      ceil of two whole numbers, for rows and for columns.
  // Diagnosis E-partly-written
  // Says      ceil(Ho / TILE)
  int Ho = (H - K) / S + 1, Wo = (W - K) / S + 1;
  dim3 g(M, ceil(Ho / TILE) * ceil(Wo / TILE), B);
  convolve<<<g, dim3(TILE, TILE, 1)>>>(device_output, device_input, device_mask, B, M, C, H, W, K,
                                       S);

  // Case      streams
  // What      Four streams, each with a quarter of the images; convolve waits for all.
  // Batch     4
  // Says      computes like single precision
  cudaStream_t streams[4];
  const int part = B / 4;
  for (int i = 0; i < 4; i++) cudaStreamCreate(&streams[i]);
  for (int i = 0; i < 4; i++) {
    const int tiles = ceil(((H - K) / S + 1) / 1.0 / TILE) * ceil(((W - K) / S + 1) / 1.0 / TILE);
    const int images = i == 3 ? B - 3 * part : part;
    if (images == 0) continue;
    convolve<<<dim3(M, tiles, images), dim3(TILE, TILE, 1), 0, streams[i]>>>(
        device_output + (size_t)i * part * M * ((H - K) / S + 1) * ((W - K) / S + 1),
        device_input + (size_t)i * part * C * H * W, device_mask, images, M, C, H, W, K, S);
  }
  cudaDeviceSynchronize();
  for (int i = 0; i < 4; i++) cudaStreamDestroy(streams[i]);
  // End of cases
}
