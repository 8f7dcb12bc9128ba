// Convolution as a sum of shifted images.
//
// Idea     Lay the output out as wide as the input, W instead of W − K + 1 columns. Then the
//          product of one weight (m, c, ky, kx) with all pixels is the plane of channel c, shifted
//          by ky·W + kx elements, times a number: one long vector, no rows, no borders, no unrolled
//          copy. The columns past the real width are garbage and dropped.
//
//              forward           wide[m][n]    = Σ_(c,ky,kx) w[m,c,ky,kx] · input[c][n + ky·W + kx]
//              weight gradient   dw[m,c,ky,kx] = Σ_n         dwide[m][n]  · input[c][n + ky·W + kx]
//              input gradient    din[c][n]     = Σ_(m,ky,kx) w[m,c,ky,kx] · dwide[m][n − ky·W − kx]
//
//          where dwide is the output's gradient with zeros in the garbage columns and around.
// Cost     (K − 1) / W more multiply-adds than needed; 8 to 33 % for the networks here. A stride s
//          computes all positions and keeps one of s², which none of the networks needs.
// Run      build/bin/bench_training

#include "reference/training/shifted_conv.hpp"

#include <algorithm>

#include "common/simd/isa.hpp"
#include "reference/training/sum_kernels.hpp"

namespace convlab::training {

namespace {

// Wide planes are a multiple of this, so that the kernels have no remainder.
constexpr std::int64_t kRound = 16;

}  // namespace

ShiftedConv::ShiftedConv(const ConvShape& shape) : shape_(shape) {
  validate(shape);
  const std::int64_t plane = std::int64_t{shape.height} * shape.width;
  const std::int64_t rows = shape.height - shape.kernel + 1;
  wide_size_ = (rows * shape.width + kRound - 1) / kRound * kRound;
  border_ = std::int64_t{shape.kernel - 1} * (shape.width + 1) + kRound;
  const auto add_offsets = [&](std::vector<std::int64_t>& offsets, std::int64_t start, int step) {
    for (int y = 0; y < shape.kernel; ++y) {
      for (int x = 0; x < shape.kernel; ++x) {
        offsets.push_back(start + step * (std::int64_t{y} * shape.width + x));
      }
    }
  };
  for (int c = 0; c < shape.in_channels; ++c) add_offsets(forward_offsets_, c * plane, 1);
  for (int m = 0; m < shape.out_channels; ++m) {
    add_offsets(backward_offsets_, m * (wide_size_ + 2 * border_) + border_, -1);
  }
}

void ShiftedConv::set_weights(const float* weights) {
  const int maps = shape_.out_channels;
  const int channels = shape_.in_channels;
  const int area = shape_.kernel * shape_.kernel;
  forward_weights_.resize(static_cast<std::size_t>(shape_.weights_size()));
  backward_weights_.resize(static_cast<std::size_t>(shape_.weights_size()));
  for (int m = 0; m < maps; ++m) {
    for (int c = 0; c < channels; ++c) {
      for (int k = 0; k < area; ++k) {
        const float weight = *weights++;
        const std::int64_t forward = (std::int64_t{c} * area + k) * maps + m;
        const std::int64_t backward = (std::int64_t{m} * area + k) * channels + c;
        forward_weights_[static_cast<std::size_t>(forward)] = weight;
        backward_weights_[static_cast<std::size_t>(backward)] = weight;
      }
    }
  }
}

void ShiftedConv::pad_input(const float* input, Scratch& scratch) const {
  const auto size = static_cast<std::size_t>(shape_.input_image_size());
  scratch.input.assign(size + static_cast<std::size_t>(border_), 0.0F);
  std::copy_n(input, size, scratch.input.begin());
}

void ShiftedConv::forward(const float* input, float* output, Scratch& scratch) const {
  pad_input(input, scratch);
  scratch.wide.resize(static_cast<std::size_t>(shape_.out_channels * wide_size_));
  CONVLAB_ISA_SELECT(weighted_sums)
  (forward_weights_.data(), shape_.out_channels, scratch.input.data(), forward_offsets_.data(),
   shape_.taps(), shape_.out_channels, scratch.wide.data(), wide_size_, wide_size_);
  const int out_width = shape_.out_width();
  for (int m = 0; m < shape_.out_channels; ++m) {
    for (int y = 0; y < shape_.out_height(); ++y) {
      const float* row =
          scratch.wide.data() + m * wide_size_ + std::int64_t{y} * shape_.stride * shape_.width;
      for (int x = 0; x < out_width; ++x) *output++ = row[std::ptrdiff_t{x} * shape_.stride];
    }
  }
}

void ShiftedConv::spread_gradient(const float* d_output, Scratch& scratch) const {
  const std::int64_t pitch = wide_size_ + 2 * border_;
  scratch.gradient.assign(static_cast<std::size_t>(shape_.out_channels * pitch), 0.0F);
  const int out_width = shape_.out_width();
  for (int m = 0; m < shape_.out_channels; ++m) {
    for (int y = 0; y < shape_.out_height(); ++y) {
      float* row = scratch.gradient.data() + m * pitch + border_ +
                   std::int64_t{y} * shape_.stride * shape_.width;
      for (int x = 0; x < out_width; ++x) row[std::ptrdiff_t{x} * shape_.stride] = *d_output++;
    }
  }
}

void ShiftedConv::add_weight_gradient(const float* input, const float* d_output, float* d_weights,
                                      Scratch& scratch) const {
  pad_input(input, scratch);
  spread_gradient(d_output, scratch);
  CONVLAB_ISA_SELECT(dot_products)
  (scratch.gradient.data() + border_, wide_size_ + 2 * border_, scratch.input.data(),
   forward_offsets_.data(), shape_.taps(), shape_.out_channels, d_weights, shape_.taps(),
   wide_size_);
}

void ShiftedConv::input_gradient(const float* d_output, float* d_input, Scratch& scratch) const {
  spread_gradient(d_output, scratch);
  const std::int64_t plane = std::int64_t{shape_.height} * shape_.width;
  CONVLAB_ISA_SELECT(weighted_sums)
  (backward_weights_.data(), shape_.in_channels, scratch.gradient.data(), backward_offsets_.data(),
   static_cast<int>(backward_offsets_.size()), shape_.in_channels, d_input, plane, plane);
}

void convolve(const ConvShape& shape, const float* input, const float* weights, float* output) {
  ShiftedConv conv(shape);
  conv.set_weights(weights);
#pragma omp parallel
  {
    ShiftedConv::Scratch scratch;
#pragma omp for schedule(dynamic, 8)
    for (int image = 0; image < shape.batch; ++image) {
      conv.forward(input + image * shape.input_image_size(),
                   output + image * shape.output_image_size(), scratch);
    }
  }
}

}  // namespace convlab::training
