// Copies and kernels at the same time.
//
// Idea     A user of the layer waits for the copies: at 10 000 images the copy to the GPU takes
//          tens of milliseconds, the copy back takes longer, and the kernel takes two. The copy
//          engines of the GPU copy in both directions at once, while the multiprocessors compute.
//          Cut the batch into chunks: copy chunk i + 1 in while chunk i is computed and chunk i - 1
//          is copied out.
// Picture  up to 8 lanes, each a host thread with its own stream and buffers:
//
//              lane 0   copy | in 0 | kernel 0 | out 0 | copy |   copy | in 3 | …
//              lane 1     copy | in 1 | kernel 1 | out 1 | copy |   …
//              lane 2       copy | in 2 | kernel 2 | out 2 | copy | …
//
//          A copy is asynchronous only from or to pinned memory. The caller's arrays are not
//          pinned, and pinning them would take time for each of their pages. So each lane has a
//          pinned buffer for its input and one for its output, and its thread copies between them
//          and the caller's arrays. While one lane waits for the GPU, the others copy.
// Cost     the host copies every byte once more; it has enough memory bandwidth. The device needs
//          memory for a few chunks only, so a small GPU is enough.
// Expect   layer time: that of the longer direction, instead of in + kernel + out. Op time: the
//          same, because convolve contains all the work, also the copies. So judge this stage by
//          its layer time. In an earlier form one thread drove three streams and started seven
//          threads for each copy on the host: 330 chunks started 2 300 threads, and the layer took
//          longer than without streams.
// Run      build/bin/m4 1000 --stage streams --solution reference

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"
#include "common/device/device_buffer.cuh"
#include "common/stage/stage.hpp"
#include "reference/solutions/m4_optimizations/cuda_stream.cuh"
#include "reference/solutions/m4_optimizations/host_threads.hpp"
#include "reference/solutions/m4_optimizations/row_strips.cuh"

namespace {

using convlab::ConvShape;

constexpr int kMostLanes = 8;
constexpr std::int64_t kChunkBytes = std::int64_t{2} << 20;  // of input and output together

struct FreePinned {
  void operator()(float* memory) const { cudaFreeHost(memory); }
};
using Pinned = std::unique_ptr<float, FreePinned>;

Pinned pinned(std::size_t bytes) {
  float* memory = nullptr;
  CONVLAB_CUDA_CHECK(cudaMallocHost(&memory, bytes));
  return Pinned(memory);
}

// A stream and the buffers for one chunk at a time, used by one host thread.
class Lane {
 public:
  /// @param chunk  shape of the largest chunk
  explicit Lane(const ConvShape& chunk)
      : input_(chunk.input_size()),
        output_(chunk.output_size()),
        pinned_input_(pinned(input_.bytes())),
        pinned_output_(pinned(output_.bytes())) {}

  /// Convolves the images of one chunk, from the caller's array to the caller's array.
  void convolve(float* output, const float* input, const float* device_weights,
                const ConvShape& chunk) {
    const std::size_t input_bytes = sizeof(float) * chunk.input_size();
    const std::size_t output_bytes = sizeof(float) * chunk.output_size();
    std::memcpy(pinned_input_.get(), input, input_bytes);
    CONVLAB_CUDA_CHECK(cudaMemcpyAsync(input_.data(), pinned_input_.get(), input_bytes,
                                       cudaMemcpyHostToDevice, stream_.get()));
    convlab::convolve_row_strips(output_.data(), input_.data(), device_weights, chunk,
                                 stream_.get());
    CONVLAB_CUDA_CHECK(cudaMemcpyAsync(pinned_output_.get(), output_.data(), output_bytes,
                                       cudaMemcpyDeviceToHost, stream_.get()));
    stream_.synchronize();
    std::memcpy(output, pinned_output_.get(), output_bytes);
  }

 private:
  convlab::DeviceBuffer<float> input_;
  convlab::DeviceBuffer<float> output_;
  Pinned pinned_input_;
  Pinned pinned_output_;
  convlab::CudaStream stream_;
};

class Streams final : public convlab::Convolution {
 public:
  // Allocates, and copies only the weights.
  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    convlab::validate(shape);
    shape_ = shape;
    host_input_ = input;
    host_output_ = output;
    CONVLAB_CUDA_CHECK(cudaGetDevice(&device_));
    weights_ = convlab::DeviceBuffer<float>(shape.weights_size());
    weights_.copy_from_host(weights);
    const std::int64_t image_bytes =
        (shape.input_image_size() + shape.output_image_size()) * std::int64_t{sizeof(float)};
    chunk_ = shape;
    chunk_.batch =
        static_cast<int>(std::clamp<std::int64_t>(kChunkBytes / image_bytes, 1, shape.batch));
    const int chunks = (shape.batch + chunk_.batch - 1) / chunk_.batch;
    const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const int lanes = std::min({kMostLanes, cores, chunks});
    for (int i = 0; i < lanes; ++i) lanes_.emplace_back(chunk_);
  }

  // Returns when the whole output has arrived.
  void convolve() override {
    std::atomic<int> next = 0;  // the first image that no lane has taken
    convlab::on_host_threads(lanes_.size(), [&](std::size_t lane) {
      CONVLAB_CUDA_CHECK(cudaSetDevice(device_));  // each thread has its own current device
      for (int first; (first = next.fetch_add(chunk_.batch)) < shape_.batch;) {
        ConvShape part = chunk_;
        part.batch = std::min(chunk_.batch, shape_.batch - first);
        lanes_[lane].convolve(host_output_ + first * shape_.output_image_size(),
                              host_input_ + first * shape_.input_image_size(), weights_.data(),
                              part);
      }
    });
  }

  void epilog() override {
    lanes_.clear();
    weights_ = {};
  }

 private:
  ConvShape shape_;
  ConvShape chunk_;  // of most chunks; the last may have fewer images
  const float* host_input_ = nullptr;
  float* host_output_ = nullptr;
  int device_ = 0;
  convlab::DeviceBuffer<float> weights_;
  std::vector<Lane> lanes_;
};

const convlab::LadderStage<Streams> stage("streams",
                                          "Copies and kernels overlapped in streams (layer time)");

}  // namespace
