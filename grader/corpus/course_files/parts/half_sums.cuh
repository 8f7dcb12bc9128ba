#include <cuda_fp16.h>
#define SUM __half
#define START __float2half(0.0f)
#define ADD(sum, x, k) __hadd(sum, __hmul(__float2half(x), __float2half(k)))
#define RESULT(sum) __half2float(sum)
