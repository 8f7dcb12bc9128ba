// cuDNN with tensor cores, as stages like those of milestone 4. (With floats alone it is the
// stage cudnn of the ladder itself.)

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <memory>

#include "reference/solutions/m4_optimizations/stages/cudnn_convolution.cuh"

namespace {

using convlab::ConvShape;
using convlab::CudnnConvolution;
using convlab::CudnnMath;
using convlab::DeviceBuffer;

constexpr int kBlockSize = 256;

__global__ void to_halves(half* to, const float* from, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kBlockSize + threadIdx.x;
  if (i < count) to[i] = __float2half(from[i]);
}

__global__ void to_floats(float* to, const half* from, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kBlockSize + threadIdx.x;
  if (i < count) to[i] = __half2float(from[i]);
}

unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>((count + kBlockSize - 1) / kBlockSize);
}

DeviceBuffer<half> halves_of(const float* host, std::int64_t count) {
  DeviceBuffer<float> floats(count);
  floats.copy_from_host(host);
  DeviceBuffer<half> halves(count);
  to_halves<<<blocks_for(count), kBlockSize>>>(halves.data(), floats.data(), count);
  CONVLAB_CUDA_CHECK_LAUNCH(blocks_for(count), kBlockSize, 0);
  CONVLAB_CUDA_CHECK(cudaDeviceSynchronize());
  return halves;
}

/// Arrays of halves on the device: the conversion from floats and back is outside of the op time,
/// and half of the bytes are moved in it, which no stage of the ladder is allowed.
class CudnnFp16 final : public convlab::Convolution {
 public:
  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    shape_ = shape;
    host_output_ = output;
    input_ = halves_of(input, shape.input_size());
    weights_ = halves_of(weights, shape.weights_size());
    output_ = DeviceBuffer<half>(shape.output_size());
    convolution_ = std::make_unique<CudnnConvolution>(shape, CudnnMath::kFp16);
  }

  void convolve() override { convolution_->run(output_.data(), input_.data(), weights_.data()); }

  void epilog() override {
    const std::int64_t count = shape_.output_size();
    DeviceBuffer<float> floats(count);
    to_floats<<<blocks_for(count), kBlockSize>>>(floats.data(), output_.data(), count);
    CONVLAB_CUDA_CHECK_LAUNCH(blocks_for(count), kBlockSize, 0);
    floats.copy_to_host(host_output_);
    input_ = {};
    weights_ = {};
    output_ = {};
    convolution_.reset();
  }

 private:
  ConvShape shape_;
  float* host_output_ = nullptr;
  DeviceBuffer<half> input_;
  DeviceBuffer<half> weights_;
  DeviceBuffer<half> output_;
  std::unique_ptr<CudnnConvolution> convolution_;
};

const convlab::ConvolutionStage<convlab::CudnnStage<CudnnMath::kTf32>> tf32({
    .id = "cudnn-tf32",
    .title = "Library: cuDNN, TF32 allowed",
    .baseline = "cudnn",
    .order = 192,
    .precision = convlab::Precision::kTf32,
    .needs = {8, 0},
});

const convlab::ConvolutionStage<CudnnFp16> fp16({
    .id = "cudnn-fp16",
    .title = "Library: cuDNN, arrays of halves",
    .baseline = "cudnn",
    .order = 193,
    .precision = convlab::Precision::kFp16,
    .needs = {7, 0},
});

}  // namespace
