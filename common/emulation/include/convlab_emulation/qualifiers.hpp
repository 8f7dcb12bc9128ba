#pragma once

// CUDA's function and variable qualifiers. The host compiler sees ordinary functions and variables.
// __noinline__ is not among them: the standard library uses that name in attributes, so the rewrite
// replaces it in the student's source.

#define __global__
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
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0
#define CONVLAB_EMULATED 1
