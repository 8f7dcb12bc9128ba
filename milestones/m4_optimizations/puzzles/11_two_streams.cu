// Puzzle 11 of 11: two streams. About ten lines.
//
// Calls in one stream run one after the other; calls in different streams may run at the same time.
// With two halves in two streams, the GPU computes one half while the other is being copied:
//
//     stream 0    copy in | kernel  | copy out
//     stream 1              copy in | kernel  | copy out
//
// For each half, put three calls into its stream. A stream is the last argument of a copy and the
// fourth of a launch (the third is the shared memory, 0 here):
//
//     cudaMemcpyAsync(to, from, bytes, direction, stream)
//     kernel<<<blocks, threads, 0, stream>>>(…)
//
// These calls return at once. Before convolve returns, wait for both:
// cudaStreamSynchronize(stream). The streams are non-blocking, so they do not wait for calls
// without a stream either.
//
// The host's arrays here are pinned (cudaMallocHost): the system does not move them, so the GPU can
// read and write them by itself. With ordinary arrays cudaMemcpyAsync would wait, and nothing would
// overlap.
//
// Check it with   build/bin/grader check m4 --stage two-streams
#include <cuda_runtime.h>

#include <algorithm>

#include "common/stage/device_convolution.cuh"

namespace {

constexpr int kThreads = 64;

__global__ void scale(const float* input, const float* factor, float* output, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) output[i] = factor[0] * input[i];
}

class Puzzle final : public convlab::Convolution {
 public:
  void prolog(const convlab::ConvShape& shape, const float* input, const float* factor,
              float* output) override {
    host_output_ = output;
    count_ = shape.out_width();
    CONVLAB_CUDA_CHECK(cudaMallocHost(&pinned_input_, count_ * sizeof(float)));
    CONVLAB_CUDA_CHECK(cudaMallocHost(&pinned_output_, count_ * sizeof(float)));
    std::copy(input, input + count_, pinned_input_);
    input_ = convlab::DeviceBuffer<float>(count_);
    output_ = convlab::DeviceBuffer<float>(count_);
    factor_ = convlab::DeviceBuffer<float>(1);
    factor_.copy_from_host(factor);
    for (cudaStream_t& stream : streams_) {
      CONVLAB_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
  }

  void convolve() override {
    for (int half = 0; half < 2; ++half) {
      const int first = half * (count_ / 2);
      const int count = half == 0 ? count_ / 2 : count_ - first;
      // Copy `count` numbers in from pinned_input_ + first, scale them, copy them out to
      // pinned_output_ + first, all in streams_[half].
    }
    // Wait for both streams.
  }

  void epilog() override {
    std::copy(pinned_output_, pinned_output_ + count_, host_output_);
    CONVLAB_CUDA_CHECK(cudaFreeHost(pinned_input_));
    CONVLAB_CUDA_CHECK(cudaFreeHost(pinned_output_));
    for (cudaStream_t stream : streams_) CONVLAB_CUDA_CHECK(cudaStreamDestroy(stream));
    input_ = {};
    output_ = {};
    factor_ = {};
  }

 private:
  int count_ = 0;
  float* host_output_ = nullptr;
  float* pinned_input_ = nullptr;
  float* pinned_output_ = nullptr;
  convlab::DeviceBuffer<float> input_;
  convlab::DeviceBuffer<float> output_;
  convlab::DeviceBuffer<float> factor_;
  cudaStream_t streams_[2] = {};
};

const convlab::ConvolutionStage<Puzzle> stage({.id = "two-streams",
                                               .title = "Two halves at the same time",
                                               .order = 11});

}  // namespace
