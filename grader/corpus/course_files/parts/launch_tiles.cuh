// The phases, and a launch of tiles of TILE x TILE outputs.
#include "parts/phases.cuh"

CONV_FORWARD_GPU {
  const int tiles = (int)ceil((W - K + 1) / 1.0 / TILE) * (int)ceil((H - K + 1) / 1.0 / TILE);
  convolve<<<dim3(M, tiles, B), dim3(TILE, TILE)>>>(device_output, device_input, device_mask, M, C,
                                                   H, W, K);
}
