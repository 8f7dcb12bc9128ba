#pragma once

// threadIdx and the other built-in variables: plain thread-local variables of the worker that runs
// the block. The scheduler sets threadIdx whenever it changes the thread, and a block never moves
// to another worker. `constinit` spares the initialisation check at every use.

#include "common/emulation/include/convlab_emulation/language_standard.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's
CONVLAB_CONSTINIT extern thread_local uint3 threadIdx;
CONVLAB_CONSTINIT extern thread_local uint3 blockIdx;
CONVLAB_CONSTINIT extern thread_local dim3 blockDim;
CONVLAB_CONSTINIT extern thread_local dim3 gridDim;

inline constexpr int warpSize = 32;
// NOLINTEND(readability-identifier-naming)
