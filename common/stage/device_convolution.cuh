#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "common/base/conv_shape.hpp"
#include "common/device/cuda_check.cuh"
#include "common/device/device_buffer.cuh"
#include "common/stage/stage.hpp"

namespace convlab {

/// A convolution with the usual prolog and epilog: input and weights are copied to the device, the
/// output is copied back. A stage that only has another kernel derives from it and writes launch().
class DeviceConvolution : public Convolution {
 public:
  void prolog(const ConvShape& shape, const float* input, const float* weights,
              float* output) final {
    validate(shape);
    shape_ = shape;
    host_output_ = output;
    input_ = DeviceBuffer<float>(shape.input_size());
    weights_ = DeviceBuffer<float>(shape.weights_size());
    output_ = DeviceBuffer<float>(shape.output_size());
    input_.copy_from_host(input);
    weights_.copy_from_host(weights);
    prepare();
  }

  void convolve() final { launch(output_.data(), input_.data(), weights_.data(), shape_); }

  void epilog() final {
    output_.copy_to_host(host_output_);
    input_ = {};
    weights_ = {};
    output_ = {};
    release();
  }

 protected:
  /// Allocates further memory for the kernels, after the three arrays are on the device.
  virtual void prepare() {}

  /// Frees what prepare allocated.
  virtual void release() {}

  /// Starts the kernels. All pointers are to device memory, row-major:
  /// @param output   batch × out_channels × out_height × out_width
  /// @param input    batch × in_channels × height × width
  /// @param weights  out_channels × in_channels × kernel × kernel
  virtual void launch(float* output, const float* input, const float* weights,
                      const ConvShape& shape) = 0;

  [[nodiscard]] const ConvShape& shape() const { return shape_; }

  /// The arrays that launch will get, for a stage that prepares its launch.
  [[nodiscard]] float* device_output() { return output_.data(); }
  [[nodiscard]] const float* device_input() const { return input_.data(); }
  [[nodiscard]] const float* device_weights() const { return weights_.data(); }

  /// How many bytes prepare may allocate: half of the free memory, 256 MiB at most. A stage that
  /// needs more for the whole batch works in slices of some images. Emulated, the grader also tries
  /// a device with little memory, so that a small batch takes several slices.
  [[nodiscard]] static std::int64_t workspace_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    CONVLAB_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    return static_cast<std::int64_t>(std::min(free / 2, std::size_t{256} << 20));
  }

 private:
  ConvShape shape_;
  float* host_output_ = nullptr;
  DeviceBuffer<float> input_;
  DeviceBuffer<float> weights_;
  DeviceBuffer<float> output_;
};

}  // namespace convlab
