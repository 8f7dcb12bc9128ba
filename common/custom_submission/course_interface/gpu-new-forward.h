#pragma once

// The interface that submissions of the course's editions implement, so that such a file builds
// here as it is. Which of the forms a file defines, the adapter in gpu_interface_stage.cu finds
// out.

#include <cuda_runtime.h>

// Some editions' headers brought these along, and files count on them. They get them only if they
// do not compile without (build_custom_submission.sh), because the names of std may clash with a
// file's.
#ifdef CONVLAB_NAMES_OF_STD
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>
using namespace std;
#endif

// The sizes, and where the phases leave their arrays.
#define CONVLAB_SIZES const int B, const int M, const int C, const int H, const int W, const int K
#define CONVLAB_DEVICE_ARRAYS \
  float **device_output_ptr, float **device_input_ptr, float **device_mask_ptr

class GPUInterface {
 public:
  void get_device_properties();

  // Since FA21: three phases, pointers to device memory.
  void conv_forward_gpu_prolog(const float* host_output, const float* host_input,
                               const float* host_mask, CONVLAB_DEVICE_ARRAYS, CONVLAB_SIZES);
  void conv_forward_gpu_epilog(float* host_output, float* device_output, float* device_input,
                               float* device_mask, CONVLAB_SIZES);
  // FA20 has only this one, which then takes pointers to host memory.
  void conv_forward_gpu(float* output, const float* input, const float* mask, CONVLAB_SIZES);

  // The same by the name that another course gives it.
  void conv_forward_gpu_full(float* output, const float* input, const float* weights,
                             CONVLAB_SIZES);
  void conv_forward_gpu_full(float*, float*, float*, CONVLAB_SIZES);

  // FA23: the same with a stride.
  void conv_forward_gpu_prolog(const float* host_output, const float* host_input,
                               const float* host_mask, CONVLAB_DEVICE_ARRAYS, CONVLAB_SIZES,
                               const int S);
  void conv_forward_gpu(float* device_output, const float* device_input, const float* device_mask,
                        CONVLAB_SIZES, const int S);
  void conv_forward_gpu_epilog(float* host_output, float* device_output, float* device_input,
                               float* device_mask, CONVLAB_SIZES, const int S);

  // Older headers, in which arrays of the host are not const.
  void conv_forward_gpu_prolog(float*, const float*, const float*, CONVLAB_DEVICE_ARRAYS,
                               CONVLAB_SIZES);
  void conv_forward_gpu_prolog(float*, float*, float*, CONVLAB_DEVICE_ARRAYS, CONVLAB_SIZES);
  void conv_forward_gpu(float*, float*, float*, CONVLAB_SIZES);
  void conv_forward_gpu_prolog(float*, const float*, const float*, CONVLAB_DEVICE_ARRAYS,
                               CONVLAB_SIZES, const int S);
  void conv_forward_gpu_prolog(float*, float*, float*, CONVLAB_DEVICE_ARRAYS, CONVLAB_SIZES,
                               const int S);
  void conv_forward_gpu(float*, float*, float*, CONVLAB_SIZES, const int S);
};

// The same without a class.
void conv_forward_gpu_full(float* output, const float* input, const float* weights, CONVLAB_SIZES);
