// The course's CPU interface without a stride, as a student may have written it.
#include "cpu-new-forward.h"

void conv_forward_cpu(float *output, const float *input, const float *mask, const int B, const int M,
                      const int C, const int H, const int W, const int K) {
  const int H_out = H - K + 1;
  const int W_out = W - K + 1;
  for (int at = 0; at < B * M * H_out * W_out; at++) {
    const int w = at % W_out, h = at / W_out % H_out, m = at / (W_out * H_out) % M;
    const int b = at / (W_out * H_out * M);
    output[at] = 0;
    for (int tap = 0; tap < C * K * K; tap++)
      output[at] += input[((b * C + tap / (K * K)) * H + h + tap / K % K) * W + w + tap % K] *
                    mask[m * C * K * K + tap];
  }
}
