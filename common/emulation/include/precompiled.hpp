#pragma once

// What is precompiled for programs of others.
//
// GCC instantiates what inline functions of a header call in each program anew. Of the functions of
// these headers it does so while it precompiles them, because their templates return auto. C++17's
// mathematical special functions (std::beta, …) would be 144 templates more, a tenth of the time to
// compile a small program, so they are left out here: who uses one gets an error, and is compiled
// with the text of the headers.

#if defined(__GNUC__) && __has_include(<bits/c++config.h>)
#include <bits/c++config.h>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
// NOLINTNEXTLINE(bugprone-reserved-identifier)
#define _GLIBCXX_USE_STD_SPEC_FUNCS 0
#endif

#include "common/emulation/include/cuda_runtime.h"
