// Compiled with -O2, for the ratio that the emulated kernels are measured by.

#include "common/emulation/benchmarks/kernels.cuh"

void convolve_on_host(const float* input, const float* weights, float* output,
                      const convlab::ConvShape& size) {
  const int out_height = size.out_height();
  const int out_width = size.out_width();
  for (int b = 0; b < size.batch; ++b)
    for (int m = 0; m < size.out_channels; ++m)
      for (int h = 0; h < out_height; ++h)
        for (int w = 0; w < out_width; ++w) {
          float sum = 0;
          for (int c = 0; c < size.in_channels; ++c)
            for (int p = 0; p < size.kernel; ++p)
              for (int q = 0; q < size.kernel; ++q)
                sum +=
                    input[((b * size.in_channels + c) * size.height + h + p) * size.width + w + q] *
                    weights[((m * size.in_channels + c) * size.kernel + p) * size.kernel + q];
          output[((b * size.out_channels + m) * out_height + h) * out_width + w] = sum;
        }
}
