#pragma once

// The CUDA runtime of emulated targets. As with nvcc, every .cu file has it before its first line.

// Course helpers (helper_cuda.h) ask for the toolkit's include guard.
#define __CUDA_RUNTIME_H__
#define CONVLAB_TELLS_OF_NVCC

// Where a program asks before each access (common/emulation/bounds) or tells of it
// (common/emulation/trace), so do these, by functions whose names begin so. They must be declared
// before the library declares them.
#ifdef CONVLAB_MEMORY_CALLS
extern "C" {
void* memset(void*, int, decltype(sizeof 0)) noexcept __asm__(CONVLAB_MEMORY_CALLS "memset");
void* memcpy(void* __restrict, const void* __restrict, decltype(sizeof 0)) noexcept
    __asm__(CONVLAB_MEMORY_CALLS "memcpy");
void* memmove(void*, const void*, decltype(sizeof 0)) noexcept
    __asm__(CONVLAB_MEMORY_CALLS "memmove");
}
#endif

// As with nvcc, these come along.
#include <limits.h>
#include <time.h>

#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/emulation/include/convlab_emulation/device_functions.hpp"
#include "common/emulation/include/convlab_emulation/device_math.hpp"
#include "common/emulation/include/convlab_emulation/device_values.hpp"
#include "common/emulation/include/convlab_emulation/kernel_heap.hpp"
#include "common/emulation/include/convlab_emulation/launch.hpp"
#include "common/emulation/include/convlab_emulation/own_array.hpp"
#include "common/emulation/include/convlab_emulation/parts_of_words.hpp"
#include "common/emulation/include/convlab_emulation/ptx.hpp"
#include "common/emulation/include/convlab_emulation/runtime_api.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"
#include "common/emulation/include/convlab_emulation/warp_functions.hpp"

// CUDA's function and variable qualifiers. The host compiler sees ordinary functions and variables.
// __noinline__ is not among them: the standard library uses that name in attributes, so the rewrite
// replaces it in the student's source.

// Kernels are compiled for processors with fused multiply-adds, with all that they call inside of
// them, and the rest of the source is not: as with nvcc, a product and a sum are one instruction
// on the device and two on the host (common/setup/cmake/ConvLabCuda.cmake).
#if defined(CONVLAB_FUSED) && defined(__x86_64__)
#define __global__ __attribute__((flatten, target("fma")))
#define CONVLAB_NOINLINE __attribute__((noinline, flatten, target("fma")))
#else
#define __global__ __attribute__((flatten))
#define CONVLAB_NOINLINE __attribute__((noinline))
#endif
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
// The rewrite handles every __shared__ variable it finds; this serves one that a macro pastes.
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __forceinline__ inline __attribute__((always_inline))
#if !defined(__clang__)
#define __builtin_assume(condition) static_cast<void>(0)
#endif
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))

// Host and device share one compilation. Code that tests the macro is device code most of the time.
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDA_ARCH__ 800
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define CONVLAB_EMULATED 1
