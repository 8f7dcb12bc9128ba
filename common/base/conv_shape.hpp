#pragma once

#include <cstdint>
#include <string>

namespace convlab {

/// Every size of one forward convolution without padding. Rows are contiguous:
///
///     input    batch × in_channels × height × width
///     weights  out_channels × in_channels × kernel × kernel
///     output   batch × out_channels × out_height() × out_width()
///
/// Element counts are 64 bits wide: the unrolled input of the default network at 10 000 images has
/// more elements than an int counts.
struct ConvShape {
  int batch = 1;
  int out_channels = 1;
  int in_channels = 1;
  int height = 1;
  int width = 1;
  int kernel = 1;
  int stride = 1;

  [[nodiscard]] constexpr int out_height() const { return (height - kernel) / stride + 1; }
  [[nodiscard]] constexpr int out_width() const { return (width - kernel) / stride + 1; }

  /// Products summed for one output element.
  [[nodiscard]] constexpr int taps() const { return in_channels * kernel * kernel; }

  // Elements of one image, of all images, and of the weights.
  [[nodiscard]] constexpr std::int64_t input_image_size() const {
    return std::int64_t{in_channels} * height * width;
  }
  [[nodiscard]] constexpr std::int64_t output_image_size() const {
    return std::int64_t{out_channels} * out_height() * out_width();
  }
  [[nodiscard]] constexpr std::int64_t input_size() const { return batch * input_image_size(); }
  [[nodiscard]] constexpr std::int64_t output_size() const { return batch * output_image_size(); }
  [[nodiscard]] constexpr std::int64_t weights_size() const {
    return std::int64_t{out_channels} * in_channels * kernel * kernel;
  }

  /// Multiply-adds of the whole convolution.
  [[nodiscard]] constexpr std::int64_t multiply_adds() const { return output_size() * taps(); }

#if __cplusplus >= 202002L  // CUDA 11 compiles C++17, where no .cu file needs it
  friend bool operator==(const ConvShape&, const ConvShape&) = default;
#endif
};

/// @throws ShapeError unless all sizes are positive, the kernel fits into the image, and every
///         tensor has at most 2^40 elements.
void validate(const ConvShape& shape);

/// "B=4 M=3 C=3 H=239 W=239 K=3 S=4", the letters that the course uses.
std::string to_string(const ConvShape& shape);

}  // namespace convlab
