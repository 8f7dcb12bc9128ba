#pragma once

// The CPU interface that submissions of the course's editions implement, so that such a file builds
// here as it is. The adapter in cpu_interface_stage.cpp finds out which form a file defines.

void conv_forward_cpu(float* output, const float* input, const float* mask, const int B,
                      const int M, const int C, const int H, const int W, const int K);

// FA23: the same with a stride.
void conv_forward_cpu(float* output, const float* input, const float* mask, const int B,
                      const int M, const int C, const int H, const int W, const int K, const int S);
