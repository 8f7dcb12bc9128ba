// Four streams, each with a quarter of the batch: the course never ran fewer than 100 images.
//
// Runs      emulated gpu
// Batch     8

// Case      streams_divide_batch
// What      Each stream takes B / 4 images, which is none of a single one.
// Says      computes like single precision
#define INSIDE (top + y < H && left + x < W)

// Case      streams_in_the_final_task
// What      The same, handed in for the task that allows one stream.
// Options   --rules sp26-final
// Diagnosis E-course-rule
// Says      one-stream: its kernels run in 4 streams
#define INSIDE (top + y < H && left + x < W)

// Case      streams_divide_batch_and_halo
// What      The same, and the halo of the last tile is read beyond the input; nothing uses it.
// Warns     E-outside
#define INSIDE true

// Case      streams_leave_images_out
// What      Seven streams with B / 7 images each leave one of eight out.
// Diagnosis E-never-written E-partly-written E-images E-last-image
#define STREAMS 7
#define INSIDE (top + y < H && left + x < W)

// End of cases
#include "parts/headers.cuh"

#ifndef STREAMS
#define STREAMS 4
#endif

#include "parts/halo_kernel.cuh"
#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  const int tiles = (int)ceil((W - K + 1) / 1.0 / TILE) * (int)ceil((H - K + 1) / 1.0 / TILE);
  const int images = B / STREAMS;
  cudaStream_t streams[STREAMS];
  for (int i = 0; i < STREAMS; i++) {
    cudaStreamCreate(&streams[i]);
    const size_t from = (size_t)i * images * C * H * W;
    const size_t to = (size_t)i * images * M * (H - K + 1) * (W - K + 1);
    convolve<<<dim3(M, tiles, images), dim3(TILE, TILE), 0, streams[i]>>>(
        device_output + to, device_input + from, device_mask, M, C, H, W, K);
  }
  for (int i = 0; i < STREAMS; i++) {
    cudaStreamSynchronize(streams[i]);
    cudaStreamDestroy(streams[i]);
  }
}
