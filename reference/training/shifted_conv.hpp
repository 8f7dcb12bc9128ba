#pragma once

#include <cstdint>
#include <vector>

#include "common/tensor/conv_shape.hpp"

namespace convlab::training {

/// A convolution, its input gradient and its weight gradient, one image at a time on one thread.
/// The batch of the shape does not matter.
class ShiftedConv {
 public:
  explicit ShiftedConv(const ConvShape& shape);

  /// Memory that a thread reuses from image to image.
  struct Scratch {
    std::vector<float> input;     // in_channels planes, then zeros
    std::vector<float> wide;      // out_channels × plane of the output at stride 1
    std::vector<float> gradient;  // the same, with zeros around each plane
  };

  /// Takes the weights, out_channels × in_channels × kernel × kernel, for the calls that follow.
  void set_weights(const float* weights);

  /// output: out_channels × out_height × out_width
  void forward(const float* input, float* output, Scratch& scratch) const;

  /// Adds the gradient by the weights.
  void add_weight_gradient(const float* input, const float* d_output, float* d_weights,
                           Scratch& scratch) const;

  /// d_input: in_channels × height × width
  void input_gradient(const float* d_output, float* d_input, Scratch& scratch) const;

 private:
  void pad_input(const float* input, Scratch& scratch) const;
  void spread_gradient(const float* d_output, Scratch& scratch) const;

  ConvShape shape_;
  std::int64_t wide_size_ = 0;  // elements of an output plane that is as wide as the input
  std::int64_t border_ = 0;     // zeros before and after such a plane of the gradient
  std::vector<std::int64_t> forward_offsets_;   // one per (channel, row, column) of a kernel
  std::vector<std::int64_t> backward_offsets_;  // one per (map, row, column)
  std::vector<float> forward_weights_;          // (channel, row, column) × map
  std::vector<float> backward_weights_;         // (map, row, column) × channel
};

/// The convolution of a whole batch on all threads; a ConvForward.
void convolve(const ConvShape& shape, const float* input, const float* weights, float* output);

}  // namespace convlab::training
