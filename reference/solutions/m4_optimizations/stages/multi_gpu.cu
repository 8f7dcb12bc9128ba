// The batch split over all GPUs of the machine.
//
// Idea     No image needs another one. Give each of N GPUs an N-th of the batch and a copy of the
//          weights; the GPUs exchange nothing.
// Picture  2 GPUs, 5 images:    GPU 0   weights | images 0 1 2
//                               GPU 1   weights | images 3 4
//
// Cost     one host thread for each GPU, so that their copies run at the same time; each GPU has
//          its own path to host memory, if memory and threads of the host keep up. Launching on N
//          GPUs and waiting for each takes some 10 microseconds.
// Expect   op time divided by the number of GPUs at large batches, a loss at small ones; layer time
//          falls by less, because all GPUs share the host's memory. With one GPU the stage is
//          per-layer.
// Run      build/bin/m4 10000 --stage multi-gpu --solution reference

#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"
#include "common/device/device_buffer.cuh"
#include "common/stage/stage.hpp"
#include "reference/solutions/m4_optimizations/host_threads.hpp"
#include "reference/solutions/m4_optimizations/per_layer.cuh"

namespace {

using convlab::ConvShape;

// The part of one GPU.
struct Part {
  int device = 0;
  ConvShape shape;  // batch: its images
  const float* host_input = nullptr;
  float* host_output = nullptr;
  convlab::DeviceBuffer<float> input;
  convlab::DeviceBuffer<float> weights;
  convlab::DeviceBuffer<float> output;
};

// Makes `device` the current one, and restores the one before at the end.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    CONVLAB_CUDA_CHECK(cudaGetDevice(&before_));
    CONVLAB_CUDA_CHECK(cudaSetDevice(device));
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice() { cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

// Calls action for all parts at the same time. @throws what one of them threw
template <class Action>
void for_each_part(std::vector<Part>& parts, const Action& action) {
  convlab::on_host_threads(parts.size(), [&](std::size_t i) {
    const CurrentDevice current(parts[i].device);
    action(parts[i]);
  });
}

class MultiGpu final : public convlab::Convolution {
 public:
  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) override {
    convlab::validate(shape);
    int first_device = 0;
    int devices = 1;
    CONVLAB_CUDA_CHECK(cudaGetDevice(&first_device));
    CONVLAB_CUDA_CHECK(cudaGetDeviceCount(&devices));
    const int count = std::min(devices, shape.batch);
    parts_ = std::vector<Part>(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      Part& part = parts_[static_cast<std::size_t>(i)];
      const std::int64_t first = std::int64_t{shape.batch} * i / count;
      const std::int64_t end = std::int64_t{shape.batch} * (i + 1) / count;
      part.device = (first_device + i) % devices;
      part.shape = shape;
      part.shape.batch = static_cast<int>(end - first);
      part.host_input = input + first * shape.input_image_size();
      part.host_output = output + first * shape.output_image_size();
    }
    for_each_part(parts_, [&](Part& part) {
      part.input = convlab::DeviceBuffer<float>(part.shape.input_size());
      part.weights = convlab::DeviceBuffer<float>(part.shape.weights_size());
      part.output = convlab::DeviceBuffer<float>(part.shape.output_size());
      part.input.copy_from_host(part.host_input);
      part.weights.copy_from_host(weights);
    });
  }

  // Launches are asynchronous, so one thread is enough. The events that measure op time are
  // recorded on the first GPU only, so convolve returns when all GPUs have finished.
  void convolve() override {
    for (Part& part : parts_) {
      const CurrentDevice current(part.device);
      convlab::per_layer::convolve(part.output.data(), part.input.data(), part.weights.data(),
                                   part.shape);
    }
    if (parts_.size() == 1) return;
    for (Part& part : parts_) {
      const CurrentDevice current(part.device);
      CONVLAB_CUDA_CHECK(cudaDeviceSynchronize());
    }
  }

  void epilog() override {
    for_each_part(parts_, [](Part& part) {
      part.output.copy_to_host(part.host_output);
      part.input = {};
      part.weights = {};
      part.output = {};
    });
    parts_.clear();
  }

 private:
  std::vector<Part> parts_;
};

const convlab::LadderStage<MultiGpu> stage("multi-gpu", "The batch split over all GPUs");

}  // namespace
