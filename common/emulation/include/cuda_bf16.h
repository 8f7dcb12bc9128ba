#pragma once

// bfloat16: the types and functions of CUDA's cuda_bf16.h on the host. cuda_fp16.h tells how the
// two headers share their definitions.

#include <cuda_fp16.h>

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are CUDA's

#define CONVLAB_FORMAT convlab::emulation::Bfloat16Format
#define CONVLAB_NARROW __nv_bfloat16
#define CONVLAB_NARROW_RAW __nv_bfloat16_raw
#define CONVLAB_OTHER_NARROW __half
#define CONVLAB_PAIR __nv_bfloat162
#define CONVLAB_PAIR_RAW __nv_bfloat162_raw
#define CONVLAB_NAME bfloat16
#define CONVLAB_PAIR_NAME bfloat162
#define CONVLAB_SPREAD __bfloat162bfloat162
#include "common/emulation/include/convlab_emulation/narrow_float.inc"

inline __half::__half(const __nv_bfloat16 other) : __half(static_cast<float>(other)) {}
inline __nv_bfloat16::__nv_bfloat16(const __half other)
    : __nv_bfloat16(static_cast<float>(other)) {}

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7F80U))
#define CUDART_NAN_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7FFFU))
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x0001U))
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x7F7FU))
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x8000U))
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x0000U))
#define CUDART_ONE_BF16 __ushort_as_bfloat16(static_cast<unsigned short>(0x3F80U))

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
