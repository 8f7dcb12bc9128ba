#pragma once

#include <cstdint>

/// The two loops in which training spends its time, compiled once per instruction set
/// (convlab_add_isa_kernels). They run on one thread. Forward, input gradient and weight gradient
/// of convolutions and of dense layers are all one or the other:
///
///     weighted_sums   output[r][n] = Σ_t coefficients[t][r] · (base + offsets[t])[n]
///     dot_products    output[r][t] += Σ_n left[r][n] · (base + offsets[t])[n]
///
/// for r < rows, t < terms, n < count. Rows of output, coefficients and left lie `…_pitch` floats
/// apart; the rows of the right factor may overlap, which is what a convolution is.
/// The value of an element does not depend on the other rows, terms or columns of the call. So
/// results are independent of the number of threads.

#define CONVLAB_SUM_KERNELS(isa)                                                                   \
  namespace convlab::training::isa {                                                               \
  void weighted_sums(const float* coefficients, std::int64_t coefficient_pitch, const float* base, \
                     const std::int64_t* offsets, int terms, int rows, float* output,              \
                     std::int64_t output_pitch, std::int64_t count);                               \
  void dot_products(const float* left, std::int64_t left_pitch, const float* base,                 \
                    const std::int64_t* offsets, int terms, int rows, float* output,               \
                    std::int64_t output_pitch, std::int64_t count);                                \
  }

CONVLAB_SUM_KERNELS(baseline)
#if defined(__x86_64__)
CONVLAB_SUM_KERNELS(avx2)
CONVLAB_SUM_KERNELS(avx512)
#endif
#undef CONVLAB_SUM_KERNELS
