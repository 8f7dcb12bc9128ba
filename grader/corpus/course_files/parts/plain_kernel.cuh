// One thread computes one output. A file may define what it has of its own: the type of the input,
// how far the window moves, what a thread without an output does, and how it sums.
#define TILE 16
#ifndef NUMBER
#define NUMBER float
#endif
#ifndef STEP
#define STEP S
#endif
#ifndef WITHOUT_OUTPUT
#define WITHOUT_OUTPUT return
#endif
#ifndef STORES
#define STORES true
#endif
#ifndef SUM
#define SUM float
#define START 0.0f
#define RESULT(sum) sum
#endif
#ifndef ADD
#define ADD(sum, x, k) sum + x * k
#endif

__global__ void convolve(float* output, const NUMBER* input, const float* mask, int B, int M, int C,
                         int H, int W, int K, int S) {
  const int H_out = (H - K) / S + 1;
  const int W_out = (W - K) / S + 1;
  const int tiles = (W_out + TILE - 1) / TILE;
  const int m = blockIdx.x;
  const int h = blockIdx.y / tiles * TILE + threadIdx.y;
  const int w = blockIdx.y % tiles * TILE + threadIdx.x;
  const int b = blockIdx.z;
  if (h >= H_out || w >= W_out) WITHOUT_OUTPUT;
  SUM sum = START;
  for (int c = 0; c < C; c++)
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        sum = ADD(sum, input[((b * C + c) * H + h * STEP + p) * W + w * STEP + q],
                  mask[((m * C + c) * K + p) * K + q]);
  if (STORES) output[((b * M + m) * H_out + h) * W_out + w] = RESULT(sum);
}

static void launch(float* output, const NUMBER* input, const float* mask, int B, int M, int C, int H,
                   int W, int K, int S) {
  const int tiles_high = ceil(((H - K) / S + 1) / 1.0 / TILE);
  const int tiles_wide = ceil(((W - K) / S + 1) / 1.0 / TILE);
  convolve<<<dim3(M, tiles_high * tiles_wide, B), dim3(TILE, TILE, 1)>>>(output, input, mask, B, M,
                                                                        C, H, W, K, S);
}
