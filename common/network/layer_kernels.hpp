#pragma once

#include <cstdint>

/// The hot loops of the layers around the convolutions, compiled once per instruction set
/// (convlab_add_isa_kernels). They run on one thread; network.cpp spreads images over threads.

#define CONVLAB_LAYER_KERNELS(isa)                                                               \
  namespace convlab::isa {                                                                       \
  /* values[i] = max(values[i], 0) for i < size. */                                              \
  void relu(float* values, std::int64_t size);                                                   \
  /* values[i] = tanh(values[i]), within 4 units in the last place. */                           \
  void tanh(float* values, std::int64_t size);                                                   \
  /* Pools one height × width plane into out_height × out_width; windows are cut off at the    \
     border. `row` is scratch of `width` floats. */                                              \
  void max_pool(const float* input, int height, int width, int size, int stride, float* row,     \
                float* output, int out_height, int out_width);                                   \
  void average_pool(const float* input, int height, int width, int size, int stride, float* row, \
                    float* output, int out_height, int out_width);                               \
  /* outputs[i][u] = bias[u] + Σ_k inputs[i][k] · weights[u][k] for i < images, u < units. */  \
  void dense(const float* inputs, const float* weights, const float* bias, float* outputs,       \
             int images, int units, int input_size);                                             \
  }

CONVLAB_LAYER_KERNELS(baseline)
#if defined(__x86_64__)
CONVLAB_LAYER_KERNELS(avx2)
CONVLAB_LAYER_KERNELS(avx512)
#endif
#undef CONVLAB_LAYER_KERNELS
