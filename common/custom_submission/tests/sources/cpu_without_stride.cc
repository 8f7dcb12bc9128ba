// The course's CPU interface without a stride, as a student may have written it.
#include "cpu-new-forward.h"

void conv_forward_cpu(float *output, const float *input, const float *mask, const int B, const int M,
                      const int C, const int H, const int W, const int K) {
  const int H_out = H - K + 1;
  const int W_out = W - K + 1;
#define out_4d(i3, i2, i1, i0) \
  output[(i3) * (M * H_out * W_out) + (i2) * (H_out * W_out) + (i1) * (W_out) + i0]
#define in_4d(i3, i2, i1, i0) input[(i3) * (C * H * W) + (i2) * (H * W) + (i1) * (W) + i0]
#define mask_4d(i3, i2, i1, i0) mask[(i3) * (C * K * K) + (i2) * (K * K) + (i1) * (K) + i0]
  for (int b = 0; b < B; b++)
    for (int m = 0; m < M; m++)
      for (int h = 0; h < H_out; h++)
        for (int w = 0; w < W_out; w++) {
          out_4d(b, m, h, w) = 0;
          for (int c = 0; c < C; c++)
            for (int p = 0; p < K; p++)
              for (int q = 0; q < K; q++)
                out_4d(b, m, h, w) += in_4d(b, c, h + p, w + q) * mask_4d(m, c, p, q);
        }
#undef out_4d
#undef in_4d
#undef mask_4d
}
