#pragma once

// The CUDA runtime of emulated targets. As with nvcc, every .cu file has it before its first line.

// Course helpers (helper_cuda.h) ask for the toolkit's include guard.
#define __CUDA_RUNTIME_H__

// As with nvcc, these come along.
#include <limits.h>
#include <time.h>

#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/emulation/include/convlab_emulation/atomics.hpp"
#include "common/emulation/include/convlab_emulation/builtins.hpp"
#include "common/emulation/include/convlab_emulation/device_functions.hpp"
#include "common/emulation/include/convlab_emulation/device_math.hpp"
#include "common/emulation/include/convlab_emulation/launch.hpp"
#include "common/emulation/include/convlab_emulation/ptx.hpp"
#include "common/emulation/include/convlab_emulation/runtime_api.hpp"
#include "common/emulation/include/convlab_emulation/runtime_templates.hpp"
#include "common/emulation/include/convlab_emulation/shared_variable.hpp"
#include "common/emulation/include/convlab_emulation/vector_types.hpp"
#include "common/emulation/include/convlab_emulation/warp_functions.hpp"

// Last, because it redefines words.
#include "common/emulation/include/convlab_emulation/qualifiers.hpp"
