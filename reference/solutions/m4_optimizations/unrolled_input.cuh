#pragma once

// The input unrolled in slices of some images, for im2col-gemm and cublas.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/stage/device_convolution.cuh"

namespace convlab {

/// A stage that convolves a slice of images at a time.
class SlicedConvolution : public DeviceConvolution {
 protected:
  /// @param slice  the shape with the images of the slice
  virtual void convolve_slice(float* output, const float* input, const float* weights,
                              const ConvShape& slice) = 0;

  void launch(float* output, const float* input, const float* weights,
              const ConvShape& shape) override {
    for (int first = 0; first < shape.batch; first += images_at_once_) {
      ConvShape slice = shape;
      slice.batch = std::min(images_at_once_, shape.batch - first);
      convolve_slice(output + first * shape.output_image_size(),
                     input + first * shape.input_image_size(), weights, slice);
    }
  }

  /// As many images as fit into `bytes`, at least one.
  void choose_slice(std::int64_t bytes, std::int64_t image_bytes) {
    images_at_once_ =
        static_cast<int>(std::clamp<std::int64_t>(bytes / image_bytes, 1, shape().batch));
  }

  int images_at_once_ = 1;
};

namespace unrolled_input {

constexpr int kBlock = 256;

/// Thread x writes the K·K elements of one column that channel y provides.
/// @param unrolled  (taps, columns), or with ImageByImage (images, taps, pixels)
template <bool ImageByImage>
static __global__ void unroll_input(float* unrolled, const float* input, ConvShape shape) {
  const int pixels = shape.out_height() * shape.out_width();
  const std::int64_t columns = std::int64_t{shape.batch} * pixels;
  const std::int64_t column = std::int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (column >= columns) return;
  const int c = blockIdx.y;
  const std::int64_t image = column / pixels;
  const int pixel = column % pixels;
  const int h = pixel / shape.out_width();
  const int w = pixel % shape.out_width();
  const float* window = input + image * shape.input_image_size() +
                        (c * shape.height + h * shape.stride) * shape.width + w * shape.stride;
  const int first_tap = c * shape.kernel * shape.kernel;
  const std::int64_t row = ImageByImage ? pixels : columns;  // from one tap to the next
  float* to = unrolled + (ImageByImage ? (image * shape.taps() + first_tap) * pixels + pixel
                                       : first_tap * columns + column);
  for (int p = 0; p < shape.kernel; ++p) {
    for (int q = 0; q < shape.kernel; ++q) {
      *to = window[p * shape.width + q];
      to += row;
    }
  }
}

}  // namespace unrolled_input

/// A stage that unrolls a slice and then multiplies.
template <bool ImageByImage>
class UnrollingConvolution : public SlicedConvolution {
 protected:
  void prepare() override {
    const std::int64_t image_elements =
        std::int64_t{shape().taps()} * shape().out_height() * shape().out_width();
    choose_slice(workspace_bytes(), image_elements * std::int64_t{sizeof(float)});
    unrolled_ = DeviceBuffer<float>(images_at_once_ * image_elements);
  }

  void release() override { unrolled_ = {}; }

  /// output = weights · unrolled_
  virtual void multiply(float* output, const float* weights, const ConvShape& slice) = 0;

  DeviceBuffer<float> unrolled_;

 private:
  void convolve_slice(float* output, const float* input, const float* weights,
                      const ConvShape& slice) override {
    using unrolled_input::kBlock;
    const std::int64_t columns = std::int64_t{slice.batch} * slice.out_height() * slice.out_width();
    const dim3 grid((columns + kBlock - 1) / kBlock, slice.in_channels);
    unrolled_input::unroll_input<ImageByImage><<<grid, kBlock>>>(unrolled_.data(), input, slice);
    CONVLAB_CUDA_CHECK_LAUNCH(grid, kBlock, 0);
    multiply(output, weights, slice);
  }
};

}  // namespace convlab
