// Vector types and arithmetic.

#include "common/emulation/tests/features/sweep.hpp"

namespace convlab::features {
namespace {

struct Layout {
  char a;
  float4 b;
  double2 c;
  short3 d;
  ushort4 e;
};

__global__ void sizes(unsigned* out) {
  const unsigned values[] = {
      sizeof(float2),  alignof(float2),    sizeof(float3),    alignof(float3),    sizeof(float4),
      alignof(float4), sizeof(double4),    sizeof(int3),      sizeof(uchar4),     alignof(uchar4),
      sizeof(short2),  alignof(short2),    sizeof(longlong2), alignof(longlong2), sizeof(Layout),
      sizeof(dim3),    sizeof(ulonglong4), sizeof(char3),     alignof(char3),     sizeof(long4)};
  for (unsigned i = 0; i < 20; ++i) out[i] = values[i];
}

const Register kSizes{"types", "size and alignment of vector types",
                      [] { return results_of(sizes, 1, 1, 20); }};

__global__ void vectors(const float4* in, float4* out) {
  const float4 v = in[threadIdx.x];
  const float2 half_sum = make_float2(v.x + v.y, v.z + v.w);
  out[threadIdx.x] = make_float4(half_sum.x, half_sum.y, v.x * v.w, v.y - v.z);
}

const Register kVectors{
    "types", "float4 loads and stores", [] {
      const std::vector<float> values = some_floats(256);
      DeviceArray<float4> in(64);
      require(cudaMemcpy(in.data(), values.data(), 1024, cudaMemcpyHostToDevice), "copy");
      DeviceArray<float4> out(64);
      vectors<<<1, 64>>>(in.data(), out.data());
      return out.bits();
    }};

__global__ void arithmetic(const float* in, float* out) {
  const float x = in[threadIdx.x];
  const float y = in[threadIdx.x + 1];
  float* mine = out + threadIdx.x * 10;
  mine[0] = x * y + 1.0F;
  mine[1] = x / y;
  mine[2] = sqrtf(fabsf(x));
  mine[3] = fmaf(x, y, 0.1F);
  mine[4] = fminf(x, y);
  mine[5] = fmaxf(x, -y);
  mine[6] = floorf(x * 10) + ceilf(y * 10);
  mine[7] = static_cast<float>(static_cast<int>(x * 1000));
  mine[8] = rintf(x * 7) + truncf(y * 7);
  mine[9] = 1.0F / (fabsf(x) + 1.0F);
}

const Register kArithmetic{"arithmetic", "float: + - * / sqrt fma", [] {
                             return results_from(some_floats(513), arithmetic, 1, 512, 512 * 10);
                           }};

__global__ void double_arithmetic(const float* in, double* out) {
  const double x = in[threadIdx.x];
  const double y = in[threadIdx.x + 1];
  out[threadIdx.x] = (x * y + 0.1) / (y * y + 1.0) - sqrt(x * x + 2.0);
}

const Register kDouble{"arithmetic", "double", [] {
                         return results_from(some_floats(257), double_arithmetic, 1, 256, 256);
                       }};

CONVLAB_SWEEP("arithmetic", "float: a * b + c is rounded once", fused_floats, 1 << 14, {
  const float a = __uint_as_float(0x3f800000U | scramble(i) >> 9);
  const float b = __uint_as_float(0x3f800000U | scramble(i + 1) >> 9);
  const float c = -__fmul_rn(a, b);
  if (i % 4 == 0) return __float_as_uint(a * b + c);
  if (i % 4 == 1) return __float_as_uint(c - a * -b);
  if (i % 4 == 2) return __float_as_uint(-c - a * b);
  float sum = c;
  for (unsigned k = 0; k < i % 16; ++k) sum += a * (b + static_cast<float>(k));
  return __float_as_uint(sum);
})

CONVLAB_SWEEP("arithmetic", "double: a * b + c is rounded once", fused_doubles, 1 << 14, {
  const double a = 1.0 + scramble(i) * 0x1p-40;
  const double b = 1.0 + scramble(i + 1) * 0x1p-40;
  return __float_as_uint(static_cast<float>(a * b + -__dmul_rn(a, b)));
})

CONVLAB_SWEEP("arithmetic", "__fmul_rn, __fadd_rn and their kin are not fused", unfused, 1 << 12, {
  const float a = __uint_as_float(0x3f800000U | scramble(i) >> 9);
  const float b = __uint_as_float(0x3f800000U | scramble(i + 1) >> 9);
  const float c = -__fmul_rn(a, b);
  return __float_as_uint(i % 2 == 0 ? __fmul_rn(a, b) + c : __fadd_rn(a * b, c));
})

/// A hash of 64 bits in 32.
__device__ unsigned folded(unsigned long long value) {
  return static_cast<unsigned>(value >> 32 ^ value);
}

// Any float, and many near the limits of the types.
__device__ float beyond(unsigned i) {
  const unsigned exponent = 127 + scramble(i) % 72;
  return i % 8 == 0 ? __uint_as_float(scramble(i))
                    : __uint_as_float((scramble(i + 1) & 0x807fffffU) | exponent << 23);
}

CONVLAB_SWEEP("arithmetic", "casts to whole numbers beyond the range", cast, 1 << 16, {
  const float x = beyond(i);
  const double y = static_cast<double>(x) * 1.7;
  switch (i % 10) {
    case 0:
      return static_cast<unsigned>(static_cast<int>(x));
    case 1:
      return static_cast<unsigned>(x);
    case 2:
      return folded(static_cast<unsigned long long>(static_cast<long long>(x)));
    case 3:
      return folded((unsigned long long)x);
    case 4:
      return static_cast<unsigned>(static_cast<short>(x));
    case 5:
      return (unsigned)(unsigned char)x;
    case 6:
      return unsigned(int(y));
    case 7:
      return folded(static_cast<unsigned long long>(y));
    case 8:
      return folded((unsigned long long)(long long)y);
    default:
      return static_cast<unsigned>(static_cast<signed char>(y));
  }
})

CONVLAB_SWEEP("arithmetic", "conversions without a cast beyond the range", convert, 1 << 14, {
  const int whole = beyond(i);
  unsigned result = beyond(i + 1) * 2;
  result ^= whole;
  return result;
})

CONVLAB_SWEEP("arithmetic", "shifts by the width and more", shift, 1 << 14, {
  const unsigned by = scramble(i) % 96;
  const unsigned x = scramble(i + 1);
  const auto wide = static_cast<unsigned long long>(x) << 32 | scramble(i + 2);
  switch (i % 6) {
    case 0:
      return x << by;
    case 1:
      return x >> by;
    case 2:
      return static_cast<unsigned>(static_cast<int>(x) >> by);
    case 3:
      return folded(wide << by);
    case 4:
      return folded(wide >> by);
    default:
      break;
  }
  unsigned y = x;
  y <<= by;
  int z = static_cast<int>(x);
  z >>= by;
  return y ^ static_cast<unsigned>(z);
})

__global__ void add_subnormals(const float* in, float* out) {
  __shared__ float sums[64];
  sums[threadIdx.x] = 0.0F;
  for (int i = 0; i < 4; ++i) {
    const float x = in[threadIdx.x] * 0x1p-127F;
    atomicAdd(&out[threadIdx.x], x);
    atomicAdd(&out[64 + threadIdx.x], i % 2 == 0 ? 0x1.8p-126F : -0x1p-126F);
    atomicAdd(&sums[threadIdx.x], x);
  }
  out[128 + threadIdx.x] = sums[threadIdx.x];
}

const Register kSubnormals{"atomics", "atomicAdd of subnormal floats", [] {
                             return results_from(some_floats(64), add_subnormals, 1, 64, 64 * 3);
                           }};

__global__ void transcendental(const float* in, float* out) {
  out[threadIdx.x] = expf(in[threadIdx.x]) + sinf(in[threadIdx.x]) + __expf(in[threadIdx.x]);
}

const Register kTranscendental{"arithmetic", "expf, sinf, __expf, …", Agreement::kDiffers,
                               "the host's functions: last bits differ", [] {
                                 return results_from(some_floats(256), transcendental, 1, 256, 256);
                               }};

__global__ void special(const float* in, float* out) {
  const float x = in[threadIdx.x] * 0.499F;  // -1 to 1
  float* mine = out + threadIdx.x * 5;
  mine[0] = normcdff(x * 3);
  mine[1] = rsqrtf(x + 2.0F);
  mine[2] = rcbrtf(x);
  mine[3] = norm3df(x, 1, 2) + rnorm3df(x, 1, 2);
  mine[4] = exp10f(x) + j0f(x) + y1f(x + 2) + lgammaf(x + 3);
}

const Register kSpecial{"arithmetic", "normcdff, rsqrtf, norm3df, …", Agreement::kDiffers,
                        "the host's functions: last bits differ",
                        [] { return results_from(some_floats(256), special, 1, 256, 256 * 5); }};

__global__ void more_special(const float* in, float* out) {
  const float x = in[threadIdx.x] * 0.499F;  // -1 to 1
  float* mine = out + threadIdx.x * 7;
  const float sides[] = {x, 1, 2, 3};
  mine[0] = erfinvf(x) + normcdfinvf(0.5F + x * 0.49F);
  mine[1] = erfcinvf(1 + x);
  mine[2] = erfcxf(x * 9);
  mine[3] = norm4df(x, 1, 2, 3) + rnorm4df(x, 1, 2, 3);
  mine[4] = normf(4, sides) + rnormf(4, sides);
  mine[5] = rhypotf(x, 2);
  mine[6] = cyl_bessel_i0f(x * 5) + cyl_bessel_i1f(x * 5);
}

const Register kMoreSpecial{
    "arithmetic", "erfinvf, erfcxf, norm4df, rhypotf, cyl_bessel_i0f, …", Agreement::kDiffers,
    "the host's functions: last bits differ",
    [] { return results_from(some_floats(256), more_special, 1, 256, 256 * 7); }};

__global__ void cached(const float* in, float* out) {
  out[threadIdx.x] = __ldg(&in[threadIdx.x]) + 1;
}

const Register kCached{"memory", "__ldg",
                       [] { return results_from(some_floats(64), cached, 1, 64, 64); }};

}  // namespace
}  // namespace convlab::features
