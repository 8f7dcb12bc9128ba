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
  const unsigned values[] = {sizeof(float2), alignof(float2), sizeof(float3), alignof(float3),
                             sizeof(float4), alignof(float4), sizeof(double4), sizeof(int3),
                             sizeof(uchar4), alignof(uchar4), sizeof(short2), alignof(short2),
                             sizeof(longlong2), alignof(longlong2), sizeof(Layout), sizeof(dim3),
                             sizeof(ulonglong4), sizeof(char3), alignof(char3), sizeof(long4)};
  for (unsigned i = 0; i < 20; ++i) out[i] = values[i];
}

const Register kSizes{"types", "size and alignment of vector types",
                      [] { return results_of(sizes, 1, 1, 20); }};

__global__ void vectors(const float4* in, float4* out) {
  const float4 v = in[threadIdx.x];
  const float2 half_sum = make_float2(v.x + v.y, v.z + v.w);
  out[threadIdx.x] = make_float4(half_sum.x, half_sum.y, v.x * v.w, v.y - v.z);
}

const Register kVectors{"types", "float4 loads and stores", [] {
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

const Register kArithmetic{"arithmetic", "float: + - * / sqrt fma, without contraction", [] {
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

__global__ void cached(const float* in, float* out) { out[threadIdx.x] = __ldg(&in[threadIdx.x]) + 1; }

const Register kCached{"memory", "__ldg",
                       [] { return results_from(some_floats(64), cached, 1, 64, 64); }};

}  // namespace
}  // namespace convlab::features
