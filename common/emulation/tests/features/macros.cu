// Kernels, functions, casts and shifts that a macro writes: they compute as if they stood there
// themselves.

#include "common/emulation/tests/features/sweep.hpp"

namespace convlab::features {
namespace {

#define MAD(a, b, c) ((a) * (b) + (c))
#define SUM_OF(sum, a, b) sum += a * b
#define TRUNCATED(x) ((int)(x))
#define AS_BYTE(x) (unsigned char)x
#define AS(Type, x) static_cast<Type>(x)
#define ROTATED(x, n) ((x) << (n) | (x) >> (32 - (n)))
#define BIT(n) (1U << n)
#define ON_BOTH __host__ __device__
#define ON_DEVICE_INLINE static __device__ __forceinline__
#define KERNEL __global__ void
#define TWICE(statement) \
  statement;             \
  statement

__device__ float far(unsigned i) {
  const unsigned exponent = 127 + scramble(i) % 72;
  return i % 8 == 0 ? __uint_as_float(scramble(i))
                    : __uint_as_float((scramble(i + 1) & 0x807fffffU) | exponent << 23);
}

// A function and a kernel whose qualifiers come from macros.
ON_BOTH unsigned in_ints(float x) {
  return (unsigned)(int)x ^ (unsigned)x;
}
ON_DEVICE_INLINE unsigned shifted(unsigned x, unsigned n) {
  return x << n ^ x >> n;
}
KERNEL qualified(unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in_ints(far(i)) ^ shifted(scramble(i), scramble(i + 1) % 70);
}

// A kernel that is the body of a macro, for several types.
#define DEFINE_CONVERT(name, From, To)                                            \
  __global__ void name(unsigned* out) {                                           \
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                     \
    const From x = static_cast<From>(far(i)) * static_cast<From>(1.375);          \
    const int whole = x;                                                          \
    out[i] = (unsigned)whole ^ (unsigned)(long long)(x * 2) ^ (unsigned)(short)x; \
  }
DEFINE_CONVERT(convert_float, float, int)
DEFINE_CONVERT(convert_double, double, int)

// A kernel whose body is an argument.
#define DEFINE_KERNEL(name, ...)        \
  __global__ void name(unsigned* out) { \
    __VA_ARGS__                         \
  }
DEFINE_KERNEL(from_argument, const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
              const int whole = far(i); unsigned char byte = far(i + 1);
              out[i] = static_cast<unsigned>(whole) ^ (unsigned)(far(i + 2)) ^ byte ^
                       scramble(i) >> scramble(i + 3) % 64;)

// Macros inside of a kernel.
__global__ void uses_macros(unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float a = __uint_as_float(0x3f800000U | scramble(i) >> 9);
  const float b = __uint_as_float(0x3f800000U | scramble(i + 1) >> 9);
  float sum = -__fmul_rn(a, b);
  unsigned result = __float_as_uint(MAD(a, b, sum));
  TWICE(SUM_OF(sum, a, b));
  result ^= __float_as_uint(sum);
  result ^= (unsigned)TRUNCATED(far(i)) ^ AS_BYTE(far(i + 2)) ^ AS(unsigned, far(i + 3));
  result ^= ROTATED(scramble(i), i % 33) ^ BIT(scramble(i) % 64);
  out[i] = result;
}

// Casts to a type that a template or another name stands for.
using Whole = int;
typedef unsigned short Narrow;
template <typename To, class From>
__global__ void convert_to(unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const From x = far(i);
  out[i] = (unsigned)(To)x ^ (unsigned)static_cast<To>(x * 3) ^ (unsigned)(Whole)x ^ (Narrow)x;
}

const Register kQualified{"macros", "qualifiers that a macro writes",
                          [] { return results_of(qualified, 64, 256, 64 * 256); }};
const Register kFloats{"macros", "a kernel in a macro, float",
                       [] { return results_of(convert_float, 64, 256, 64 * 256); }};
const Register kDoubles{"macros", "a kernel in a macro, double",
                        [] { return results_of(convert_double, 64, 256, 64 * 256); }};
const Register kArgument{"macros", "a kernel in the argument of a macro",
                         [] { return results_of(from_argument, 64, 256, 64 * 256); }};
// It has a product that stands twice, which clang does not fuse.
#ifdef __clang__
constexpr Agreement kOfTwoProducts = Agreement::kDiffers;
#else
constexpr Agreement kOfTwoProducts = Agreement::kExact;
#endif
const Register kInside{"macros", "macros in a kernel", kOfTwoProducts, "",
                       [] { return results_of(uses_macros, 64, 256, 64 * 256); }};
const Register kTemplate{"macros", "casts to the type of a template",
                         [] { return results_of(convert_to<int, float>, 64, 256, 64 * 256); }};
const Register kOtherTemplate{
    "macros", "casts to the type of a template, narrow",
    [] { return results_of(convert_to<signed char, double>, 64, 256, 64 * 256); }};

}  // namespace
}  // namespace convlab::features
