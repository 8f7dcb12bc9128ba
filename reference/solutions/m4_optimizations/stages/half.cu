// Arithmetic in half precision, one number at a time.
//
// Idea     A half has 16 bits. Convert inputs and weights once when they are loaded, and use halves
//          for products and sums, too: __hfma instead of a multiply-add of floats. The rest is
//          restrict-unroll: 4 maps × 4 rows in the registers of a thread.
// Picture  sign 1 bit, exponent 5 bits, fraction 10 bits: 11 significant bits, numbers from 6e-8
//          to 65504. A sum of 2048 and 1 is 2048.
// Cost     a multiply-add of halves takes as long as one of floats, in the same pipeline. The
//          weights take half as many bytes, and two halves may share a register. Each input load
//          needs a conversion.
// Expect   hardly a gain: this stage is the step to half2, which computes two halves at a time.
//          Products and sums are rounded to 11 bits: precision class fp16-sums.
// Run      build/bin/m4 1000 --stage half --solution reference

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/stage/device_convolution.cuh"
#include "reference/solutions/m3_memory/register_strips.cuh"

namespace {

using convlab::ConvShape;
using convlab::register_strips::kBlockSize;

// The operations that register_strips.cuh needs.
struct HalfArithmetic {
  using Number = half;
  static __device__ half number(float value) { return __float2half(value); }
  static __device__ float to_float(half number) { return __half2float(number); }
  static __device__ half multiply_add(half a, half b, half sum) { return __hfma(a, b, sum); }
};

__global__ void round_weights(half* halves, const float* weights, int count) {
  const int i = blockIdx.x * kBlockSize + threadIdx.x;
  if (i < count) halves[i] = __float2half(weights[i]);
}

class Half final : public convlab::DeviceConvolution {
  void prepare() override { halves_ = convlab::DeviceBuffer<half>(shape().weights_size()); }

  void release() override { halves_ = {}; }

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    const int count = static_cast<int>(shape.weights_size());
    const dim3 round_grid((count + kBlockSize - 1) / kBlockSize);
    round_weights<<<round_grid, kBlockSize>>>(halves_.data(), weights, count);
    CONVLAB_CUDA_CHECK_LAUNCH(round_grid, kBlockSize, 0);
    convlab::register_strips::convolve<HalfArithmetic>(output, input, halves_.data(), shape);
  }

  convlab::DeviceBuffer<half> halves_;
};

const convlab::LadderStage<Half> stage("half", "Arithmetic in half precision");

}  // namespace
