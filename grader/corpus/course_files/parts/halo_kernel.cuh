// A tile with its halo in shared memory, for filters of up to 7. INSIDE says which elements of the
// halo are read.
#define TILE 16

__global__ void convolve(float* output, const float* input, const float* mask, int M, int C, int H,
                         int W, int K) {
  const int H_out = H - K + 1, W_out = W - K + 1;
  __shared__ float tile[TILE + 6][TILE + 6];
  const int tiles = (W_out + TILE - 1) / TILE;
  const int top = blockIdx.y / tiles * TILE, left = blockIdx.y % tiles * TILE;
  const int h = top + threadIdx.y, w = left + threadIdx.x;
  float sum = 0;
  for (int c = 0; c < C; c++) {
    for (int y = threadIdx.y; y < TILE + K - 1; y += TILE)
      for (int x = threadIdx.x; x < TILE + K - 1; x += TILE)
        tile[y][x] = INSIDE ? input[((blockIdx.z * C + c) * H + top + y) * W + left + x] : 0.0f;
    __syncthreads();
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum += tile[threadIdx.y + p][threadIdx.x + q] * mask[((blockIdx.x * C + c) * K + p) * K + q];
    __syncthreads();
  }
  if (h < H_out && w < W_out)
    output[((blockIdx.z * M + blockIdx.x) * H_out + h) * W_out + w] = sum;
}
