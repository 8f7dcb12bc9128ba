#pragma once

// A convolution by cuDNN, NVIDIA's library of neural networks' operations. Only what links cuDNN
// includes this (CONVLAB_HAS_CUDNN).

#include <cuda_runtime.h>
#include <cudnn.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.hpp"
#include "common/stage/device_convolution.cuh"

namespace convlab {

/// What cuDNN may compute with.
enum class CudnnMath {
  kFp32,  ///< floats, multiplied and added as such
  kTf32,  ///< floats that tensor cores may round to TF32
  kFp16,  ///< arrays of halves, sums in floats
};

/// Throws EnvironmentError if a call of cuDNN fails.
#define CONVLAB_CUDNN_CHECK(...) ::convlab::check_cudnn_call((__VA_ARGS__), #__VA_ARGS__)
inline void check_cudnn_call(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw EnvironmentError(std::string("cuDNN: ") + call + " failed: " + cudnnGetErrorString(status) +
                         ".");
}

/// One shape's convolution, with the algorithm that was fastest when the object was made.
///
/// Left out of the choice are the Fourier algorithms: their rounding spreads over a whole tile, so
/// that outputs whose inputs are all zero do not come out as zero, which no bound on a sum of
/// products allows. Winograd's are left out of kFp32: they exceed the bound of single precision.
class CudnnConvolution {
 public:
  /// Tries all algorithms on its own arrays. That takes a while and, for a moment, memory for a
  /// further copy of all three arrays.
  /// @throws EnvironmentError if cuDNN cannot do this shape
  CudnnConvolution(const ConvShape& shape, CudnnMath math) : CudnnConvolution() {
    const auto data = math == CudnnMath::kFp16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
    CONVLAB_CUDNN_CHECK(cudnnCreate(&handle_));
    CONVLAB_CUDNN_CHECK(cudnnCreateTensorDescriptor(&input_));
    CONVLAB_CUDNN_CHECK(cudnnCreateTensorDescriptor(&output_));
    CONVLAB_CUDNN_CHECK(cudnnCreateFilterDescriptor(&weights_));
    CONVLAB_CUDNN_CHECK(cudnnCreateConvolutionDescriptor(&convolution_));
    CONVLAB_CUDNN_CHECK(cudnnSetTensor4dDescriptor(input_, CUDNN_TENSOR_NCHW, data, shape.batch,
                                                   shape.in_channels, shape.height, shape.width));
    CONVLAB_CUDNN_CHECK(cudnnSetTensor4dDescriptor(output_, CUDNN_TENSOR_NCHW, data, shape.batch,
                                                   shape.out_channels, shape.out_height(),
                                                   shape.out_width()));
    CONVLAB_CUDNN_CHECK(cudnnSetFilter4dDescriptor(weights_, data, CUDNN_TENSOR_NCHW,
                                                   shape.out_channels, shape.in_channels,
                                                   shape.kernel, shape.kernel));
    CONVLAB_CUDNN_CHECK(cudnnSetConvolution2dDescriptor(convolution_, 0, 0, shape.stride,
                                                        shape.stride, 1, 1, CUDNN_CROSS_CORRELATION,
                                                        CUDNN_DATA_FLOAT));
    // Of floats, CUDNN_DEFAULT_MATH makes TF32 where the GPU can.
    CONVLAB_CUDNN_CHECK(cudnnSetConvolutionMathType(
        convolution_, math == CudnnMath::kFp32   ? CUDNN_FMA_MATH
                      : math == CudnnMath::kTf32 ? CUDNN_DEFAULT_MATH
                                                 : CUDNN_TENSOR_OP_MATH));
    choose(math);
  }

  CudnnConvolution(const CudnnConvolution&) = delete;
  CudnnConvolution& operator=(const CudnnConvolution&) = delete;

  ~CudnnConvolution() {
    if (convolution_ != nullptr) cudnnDestroyConvolutionDescriptor(convolution_);
    if (weights_ != nullptr) cudnnDestroyFilterDescriptor(weights_);
    if (output_ != nullptr) cudnnDestroyTensorDescriptor(output_);
    if (input_ != nullptr) cudnnDestroyTensorDescriptor(input_);
    if (handle_ != nullptr) cudnnDestroy(handle_);
  }

  /// Starts the convolution on the default stream. The arrays are laid out as ConvShape says, of
  /// floats, or for kFp16 of halves.
  void run(void* output, const void* input, const void* weights) {
    const float one = 1.0f;
    const float zero = 0.0f;
    CONVLAB_CUDNN_CHECK(cudnnConvolutionForward(handle_, &one, input_, input, weights_, weights,
                                                convolution_, algorithm_, workspace_.data(),
                                                workspace_.bytes(), &zero, output_, output));
  }

  /// The number of the algorithm, as in cudnnConvolutionFwdAlgo_t.
  [[nodiscard]] int algorithm() const { return static_cast<int>(algorithm_); }

 private:
  // The object is complete after this one, so that the destructor cleans up if the other throws.
  CudnnConvolution() = default;

  static bool may_use(cudnnConvolutionFwdAlgo_t algorithm, CudnnMath math) {
    const bool is_winograd = algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD ||
                             algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED;
    return algorithm != CUDNN_CONVOLUTION_FWD_ALGO_FFT &&
           algorithm != CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING &&
           (!is_winograd || math != CudnnMath::kFp32);
  }

  void choose(CudnnMath math) {
    std::vector<cudnnConvolutionFwdAlgoPerf_t> found(CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
    int count = 0;
    CONVLAB_CUDNN_CHECK(
        cudnnFindConvolutionForwardAlgorithm(handle_, input_, weights_, convolution_, output_,
                                             static_cast<int>(found.size()), &count, found.data()));
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    CONVLAB_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    for (int i = 0; i < count; ++i) {  // the fastest first
      const auto& candidate = found[static_cast<std::size_t>(i)];
      if (candidate.status != CUDNN_STATUS_SUCCESS || !may_use(candidate.algo, math) ||
          candidate.memory > free_bytes / 2) {
        continue;
      }
      algorithm_ = candidate.algo;
      CONVLAB_CUDNN_CHECK(cudnnSetConvolutionMathType(convolution_, candidate.mathType));
      workspace_ = DeviceBuffer<char>(static_cast<std::int64_t>(candidate.memory));
      return;
    }
    throw EnvironmentError("cuDNN has no algorithm for this shape and math.");
  }

  cudnnHandle_t handle_ = nullptr;
  cudnnTensorDescriptor_t input_ = nullptr;
  cudnnTensorDescriptor_t output_ = nullptr;
  cudnnFilterDescriptor_t weights_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
  cudnnConvolutionFwdAlgo_t algorithm_ = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
  DeviceBuffer<char> workspace_;
};

/// A stage that runs it on arrays of floats.
template <CudnnMath Math>
class CudnnStage final : public DeviceConvolution {
  void prepare() override { convolution_ = std::make_unique<CudnnConvolution>(shape(), Math); }
  void release() override { convolution_.reset(); }
  void launch(float* output, const float* input, const float* weights,
              const ConvShape& /*shape*/) override {
    convolution_->run(output, input, weights);
  }

  std::unique_ptr<CudnnConvolution> convolution_;
};

}  // namespace convlab
