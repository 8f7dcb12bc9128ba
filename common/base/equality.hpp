#pragma once

/// Declares == of a struct, member by member. CUDA 11 compiles C++17, where no .cu file needs it.
#if __cplusplus >= 202002L
#define CONVLAB_EQUALITY(Struct) friend bool operator==(const Struct&, const Struct&) = default
#else
#define CONVLAB_EQUALITY(Struct) static_assert(true)
#endif
