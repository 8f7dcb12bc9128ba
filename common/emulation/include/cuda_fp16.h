#pragma once

// Half precision: the types and functions of CUDA's cuda_fp16.h on the host.
//
// The definitions are shared with cuda_bf16.h: narrow_float.inc is written for "a narrow float" and
// included by both headers.

#include <cmath>

#include "common/emulation/include/convlab_emulation/device_functions.hpp"
#include "common/emulation/include/convlab_emulation/narrow_format.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"
#include "common/emulation/include/convlab_emulation/warp_functions.hpp"

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are CUDA's

struct __half;
struct __nv_bfloat16;

#define CONVLAB_FORMAT convlab::emulation::HalfFormat
#define CONVLAB_NARROW __half
#define CONVLAB_NARROW_RAW __half_raw
#define CONVLAB_OTHER_NARROW __nv_bfloat16
#define CONVLAB_PAIR __half2
#define CONVLAB_PAIR_RAW __half2_raw
#define CONVLAB_NAME half
#define CONVLAB_PAIR_NAME half2
#define CONVLAB_SPREAD __half2half2
#include "common/emulation/include/convlab_emulation/narrow_float.inc"

using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
using __nv_half_raw = __half_raw;
using __nv_half2_raw = __half2_raw;

#define CUDART_INF_FP16 __ushort_as_half(static_cast<unsigned short>(0x7C00U))
#define CUDART_NAN_FP16 __ushort_as_half(static_cast<unsigned short>(0x7FFFU))
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(static_cast<unsigned short>(0x0001U))
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(static_cast<unsigned short>(0x7BFFU))
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0x8000U))
#define CUDART_ZERO_FP16 __ushort_as_half(static_cast<unsigned short>(0x0000U))
#define CUDART_ONE_FP16 __ushort_as_half(static_cast<unsigned short>(0x3C00U))

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
