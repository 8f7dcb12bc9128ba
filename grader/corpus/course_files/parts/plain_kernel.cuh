// One thread computes one output.
#define TILE 16

__global__ void convolve(float* output, const float* input, const float* mask, int B, int M, int C,
                         int H, int W, int K, int S) {
  const int H_out = (H - K) / S + 1;
  const int W_out = (W - K) / S + 1;
  const int tiles = (W_out + TILE - 1) / TILE;
  const int m = blockIdx.x;
  const int h = blockIdx.y / tiles * TILE + threadIdx.y;
  const int w = blockIdx.y % tiles * TILE + threadIdx.x;
  const int b = blockIdx.z;
  if (h >= H_out || w >= W_out) return;
  float sum = 0.0f;
  for (int c = 0; c < C; c++)
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum += input[((b * C + c) * H + h * S + p) * W + w * S + q] *
               mask[((m * C + c) * K + p) * K + q];
  output[((b * M + m) * H_out + h) * W_out + w] = sum;
}

static void launch(float* output, const float* input, const float* mask, int B, int M, int C, int H,
                   int W, int K, int S) {
  const int tiles_high = ceil(((H - K) / S + 1) / 1.0 / TILE);
  const int tiles_wide = ceil(((W - K) / S + 1) / 1.0 / TILE);
  convolve<<<dim3(M, tiles_high * tiles_wide, B), dim3(TILE, TILE, 1)>>>(output, input, mask, B, M,
                                                                        C, H, W, K, S);
}
