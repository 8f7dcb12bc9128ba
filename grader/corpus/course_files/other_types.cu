// Products and sums in other types than float.
//
// Runs      emulated gpu

// Case      half_inputs
// What      Rounds inputs and weights to half and sums in float.
// Says      computes like fp16 inputs with single-precision sums

// Case      half_inputs_declared
// What      Inputs in half, declared, judged by the rules of the workbook.
// Options   --rules workbook --precision fp16

// Case      bfloat_inputs
// What      Rounds inputs and weights to bfloat16 and sums in float.
// Says      computes like bfloat16 inputs with single-precision sums
#include <cuda_bf16.h>
#define ADD(sum, x, k) sum + __bfloat162float(__float2bfloat16(x)) * __bfloat162float(__float2bfloat16(k))

// Case      tf32_cut_off
// What      Cuts the low 13 bits off, as tensor cores do with numbers that nobody rounded.
// Says      computes like TF32 inputs, cut off instead of rounded
#define CUT(x) __int_as_float(__float_as_int(x) & 0xffffe000)
#define ADD(sum, x, k) sum + CUT(x) * CUT(k)

// Case      bfloat_cut_off
// What      Keeps the upper 16 bits of each number.
// Says      computes like bfloat16 inputs, cut off instead of rounded
#define CUT(x) __int_as_float(__float_as_int(x) & 0xffff0000)
#define ADD(sum, x, k) sum + CUT(x) * CUT(k)

// Case      half_weights
// What      Rounds only the weights to half.
// Says      computes like TF32 inputs with single-precision sums
#include <cuda_fp16.h>
#define ADD(sum, x, k) sum + x * __half2float(__float2half(k))

// Case      half_products
// What      Multiplies in half and sums in float.
// Says      computes like fp16 inputs and products with single-precision sums
#include <cuda_fp16.h>
#define ADD(sum, x, k) sum + __half2float(__hmul(__float2half(x), __float2half(k)))

// Case      half_sums_in_second_layer
// What      Sums in half only where there are four channels; the first convolution is in float.
// Says      computes like fp16 inputs with sums in half precision
#include <cuda_fp16.h>
#define ADD(sum, x, k)                                                                 \
  C == 1 ? sum + x * k                                                                 \
         : __half2float(__hadd(__float2half(sum), __hmul(__float2half(x), __float2half(k))))

// Case      half_sums_and_a_wrong_tap
// What      Sums in half and leaves out one tap of each channel, less than the bound of such sums.
// Diagnosis E-wrong
#include <cuda_fp16.h>
#define SUM __half
#define START __float2half(0.0f)
#define ADD(sum, x, k) \
  p == 1 && q == 2 ? sum : __hadd(sum, __hmul(__float2half(x), __float2half(k)))
#define RESULT(sum) __half2float(sum)

// Case      half_sums
// What      Multiplies and adds in half.
// Says      computes like fp16 inputs with sums in half precision
#include "parts/half_sums.cuh"

// Case      half_sums_declared_fp16
// What      Declares fp16, which promises sums in single precision, and sums in half.
// Diagnosis E-precision
// Options   --precision fp16
#include "parts/half_sums.cuh"

// Case      half_sums_workbook
// What      Sums in half, judged by the rules of the workbook as single precision.
// Diagnosis E-precision
// Options   --rules workbook
#include "parts/half_sums.cuh"

// Case      half2_sums
// What      Two products at a time with half2 and __hfma2.
// Says      computes like fp16 inputs with sums in half precision
#include <cuda_fp16.h>
#define SUM __half2
#define START __float2half2_rn(0.0f)
#define ADD(sum, x, k)                                            \
  __hfma2(__halves2half2(__float2half(x), __float2half(0.0f)),    \
          __halves2half2(__float2half(k), __float2half(0.0f)), sum)
#define RESULT(sum) (__low2float(sum) + __high2float(sum))

// End of cases
#ifndef ADD  // the cases that round inputs and weights to half
#include <cuda_fp16.h>
#define ADD(sum, x, k) sum + __half2float(__float2half(x)) * __half2float(__float2half(k))
#endif
#include "parts/launch_plain.cuh"
