// Copies and kernels at the same time.
//
// Idea     A user of the layer waits for the copies: at 10 000 images the input takes tens of
//          milliseconds to the GPU and the output longer back, the kernel two. The copy engines of
//          the GPU work in both directions at once, and beside the multiprocessors. Cut the batch
//          into chunks and let chunk i + 1 travel in while chunk i is computed and chunk i - 1
//          travels out.
// Picture  3 streams, each with buffers of its own, used in turn:
//
//              stream 0   in 0 | kernel 0 | out 0 |        in 3 | kernel 3 | out 3
//              stream 1          in 1     | kernel 1 | out 1 |        in 4 | …
//              stream 2                     in 2     | kernel 2 | out 2 | …
//
//          A copy is asynchronous only from or to pinned memory. The arrays of a caller are not
//          pinned, and pinning them would cost time for each of their pages. So each stream has a
//          pinned buffer for its input and one for its output, and several threads of the host
//          copy between them and the caller's arrays.
// Cost     every byte is copied once more, by the host, which has memory bandwidth to spare; the
//          device needs memory for 3 chunks, not for the batch: any card will do.
// Expect   layer time: the longer direction alone, instead of in + kernel + out. Op time: as long,
//          because here all of the work, copies too, is in convolve. So this stage is judged by its
//          layer time, and loses by its op time.
// Run      build/bin/m4 1000 --stage streams --solution reference

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "common/device/cuda_check.cuh"
#include "common/device/device_buffer.cuh"
#include "common/stage/stage.hpp"
#include "common/tensor/conv_shape.hpp"
#include "reference/solutions/m4_optimizations/row_strips.cuh"

namespace {

using convlab::ConvShape;

constexpr int kStreams = 3;
constexpr std::int64_t kChunkBytes = std::int64_t{8} << 20;  // of input and output together
constexpr int kMostThreads = 8;                              // that copy on the host
constexpr std::int64_t kFloatsWorthAThread = 1 << 18;

// Copies as fast as several threads can; all of them have ended when it returns.
void copy_on_host(float* to, const float* from, std::int64_t floats) {
  const std::int64_t most = std::min<std::int64_t>(
      {kMostThreads, static_cast<std::int64_t>(std::thread::hardware_concurrency()),
       floats / kFloatsWorthAThread});
  const std::int64_t parts = std::max<std::int64_t>(1, most);
  const auto copy_part = [=](std::int64_t part) {
    const std::int64_t first = floats * part / parts;
    const std::int64_t last = floats * (part + 1) / parts;
    std::memcpy(to + first, from + first, static_cast<std::size_t>(last - first) * sizeof(float));
  };
  std::vector<std::thread> threads;
  for (std::int64_t part = 1; part < parts; ++part) threads.emplace_back(copy_part, part);
  copy_part(0);
  for (std::thread& thread : threads) thread.join();
}

// What belongs to one stream. A chunk is on its way while `images` is not zero.
struct Lane {
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
  float* pinned_input = nullptr;
  float* pinned_output = nullptr;
  convlab::DeviceBuffer<float> input;
  convlab::DeviceBuffer<float> output;
  int first = 0;
  int images = 0;
};

class Streams final : public convlab::Convolution {
 public:
  ~Streams() override { free_lanes(); }

  // Allocates, and copies nothing but the weights.
  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    convlab::validate(shape);
    shape_ = shape;
    host_input_ = input;
    host_output_ = output;
    const std::int64_t image_bytes =
        (shape.input_image_size() + shape.output_image_size()) * std::int64_t{sizeof(float)};
    chunk_ = static_cast<int>(
        std::clamp<std::int64_t>(kChunkBytes / image_bytes, 1, std::max(1, shape.batch)));
    weights_ = convlab::DeviceBuffer<float>(shape.weights_size());
    weights_.copy_from_host(weights);
    for (Lane& lane : lanes_) {
      const std::int64_t inputs = chunk_ * shape.input_image_size();
      const std::int64_t outputs = chunk_ * shape.output_image_size();
      CONVLAB_CUDA_CHECK(cudaStreamCreate(&lane.stream));
      CONVLAB_CUDA_CHECK(cudaEventCreateWithFlags(&lane.done, cudaEventDisableTiming));
      CONVLAB_CUDA_CHECK(cudaMallocHost(&lane.pinned_input, inputs * sizeof(float)));
      CONVLAB_CUDA_CHECK(cudaMallocHost(&lane.pinned_output, outputs * sizeof(float)));
      lane.input = convlab::DeviceBuffer<float>(inputs);
      lane.output = convlab::DeviceBuffer<float>(outputs);
    }
  }

  // Returns when the whole output has arrived.
  void convolve() override {
    int turn = 0;
    for (int first = 0; first < shape_.batch; first += chunk_) {
      Lane& lane = lanes_[turn++ % kStreams];
      finish(lane);  // its buffers are free from here on
      start(lane, first, std::min(chunk_, shape_.batch - first));
    }
    for (int i = 0; i < kStreams; ++i) finish(lanes_[turn++ % kStreams]);
  }

  void epilog() override {
    free_lanes();
    weights_ = {};
  }

 private:
  void start(Lane& lane, int first, int images) {
    ConvShape part = shape_;
    part.batch = images;
    lane.first = first;
    lane.images = images;
    copy_on_host(lane.pinned_input, host_input_ + first * shape_.input_image_size(),
                 part.input_size());
    CONVLAB_CUDA_CHECK(cudaMemcpyAsync(lane.input.data(), lane.pinned_input,
                                       part.input_size() * sizeof(float), cudaMemcpyHostToDevice,
                                       lane.stream));
    convlab::convolve_row_strips(lane.output.data(), lane.input.data(), weights_.data(), part,
                                 lane.stream);
    CONVLAB_CUDA_CHECK(cudaMemcpyAsync(lane.pinned_output, lane.output.data(),
                                       part.output_size() * sizeof(float), cudaMemcpyDeviceToHost,
                                       lane.stream));
    CONVLAB_CUDA_CHECK(cudaEventRecord(lane.done, lane.stream));
  }

  // Waits for the lane's chunk and hands it to the caller.
  void finish(Lane& lane) {
    if (lane.images == 0) return;
    CONVLAB_CUDA_CHECK(cudaEventSynchronize(lane.done));
    copy_on_host(host_output_ + lane.first * shape_.output_image_size(), lane.pinned_output,
                 lane.images * shape_.output_image_size());
    lane.images = 0;
  }

  void free_lanes() {
    for (Lane& lane : lanes_) {
      if (lane.stream != nullptr) cudaStreamDestroy(lane.stream);
      if (lane.done != nullptr) cudaEventDestroy(lane.done);
      cudaFreeHost(lane.pinned_input);
      cudaFreeHost(lane.pinned_output);
      lane = {};
    }
  }

  ConvShape shape_;
  const float* host_input_ = nullptr;
  float* host_output_ = nullptr;
  int chunk_ = 1;
  convlab::DeviceBuffer<float> weights_;
  std::array<Lane, kStreams> lanes_;
};

const convlab::ConvolutionStage<Streams> stage({
    .id = "streams",
    .title = "Copies and kernels overlapped in 3 streams (layer time)",
    .baseline = "per-layer",
    .order = 164,
});

}  // namespace
