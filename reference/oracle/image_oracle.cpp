#include "reference/oracle/image_oracle.hpp"

#include <algorithm>
#include <cmath>

#include "reference/oracle/oracle.hpp"

namespace convlab::oracle {

namespace {

// The copy that suits this processor, and its operating system.
auto* best_convolve_row() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
    return avx512::convolve_row;
  }
  if (has_avx2) return avx2::convolve_row;
#endif
  return baseline::convolve_row;
}

int round_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

PreparedWeights::PreparedWeights(const ConvShape& shape, const float* weights,
                                 double smallest_normal)
    : blocks_((shape.out_channels + kMapBlock - 1) / kMapBlock),
      block_size_(std::int64_t{shape.taps()} * kMapBlock),
      values_(static_cast<std::size_t>(blocks_ * block_size_)),
      magnitudes_(values_.size()) {
  for (int map = 0; map < shape.out_channels; ++map) {
    for (int tap = 0; tap < shape.taps(); ++tap) {
      const double value = weights[std::int64_t{map} * shape.taps() + tap];
      const std::int64_t to =
          map / kMapBlock * block_size_ + std::int64_t{tap} * kMapBlock + map % kMapBlock;
      values_[static_cast<std::size_t>(to)] = value;
      magnitudes_[static_cast<std::size_t>(to)] = rounding_magnitude(value, smallest_normal);
    }
  }
}

const double* PreparedWeights::values(int block) const {
  return values_.data() + block * block_size_;
}

const double* PreparedWeights::magnitudes(int block) const {
  return magnitudes_.data() + block * block_size_;
}

ImageOracle::ImageOracle(const ConvShape& shape, const PreparedWeights& weights)
    : shape_(shape),
      weights_(weights),
      padded_width_(round_up(shape.width - shape.kernel + 1, kRowMultiple)),
      row_pitch_(padded_width_ + shape.kernel - 1),
      channel_pitch_(row_pitch_ * shape.height),
      value_planes_(static_cast<std::size_t>(channel_pitch_ * shape.in_channels)),
      magnitude_planes_(value_planes_.size()),
      row_values_(static_cast<std::size_t>(kMapBlock * padded_width_)),
      row_magnitudes_(row_values_.size()) {}

// Columns after the image keep the zeros of the constructor.
template <class Value, class Magnitude>
void ImageOracle::fill(Value value, Magnitude magnitude) {
  std::int64_t from = 0;
  for (int line = 0; line < shape_.in_channels * shape_.height; ++line) {
    for (int column = 0; column < shape_.width; ++column, ++from) {
      const auto to = static_cast<std::size_t>(line * row_pitch_ + column);
      value_planes_[to] = value(from);
      magnitude_planes_[to] = magnitude(from);
    }
  }
}

void ImageOracle::load(const float* image, double smallest_normal) {
  fill([=](std::int64_t i) { return static_cast<double>(image[i]); },
       [=](std::int64_t i) { return rounding_magnitude(image[i], smallest_normal); });
}

void ImageOracle::load(const double* values, const double* magnitudes) {
  fill([values](std::int64_t i) { return values[i]; },
       [magnitudes](std::int64_t i) { return magnitudes[i]; });
}

void ImageOracle::compute_row(int block, int row) {
  const std::int64_t first = std::int64_t{row} * shape_.stride * row_pitch_;
  static auto* const convolve_row = best_convolve_row();
  convolve_row({.values = value_planes_.data() + first,
                .magnitudes = magnitude_planes_.data() + first,
                .weights = weights_.values(block),
                .weight_magnitudes = weights_.magnitudes(block),
                .channel_pitch = channel_pitch_,
                .row_pitch = row_pitch_,
                .channels = shape_.in_channels,
                .kernel = shape_.kernel,
                .width = padded_width_,
                .out_values = row_values_.data(),
                .out_magnitudes = row_magnitudes_.data()});
  // Of all columns those that the stride asks for.
  for (std::vector<double>* rows : {&row_values_, &row_magnitudes_}) {
    for (int map = 0; shape_.stride > 1 && map < kMapBlock; ++map) {
      double* const columns = rows->data() + std::ptrdiff_t{map} * padded_width_;
      for (int x = 1; x < shape_.out_width(); ++x) columns[x] = columns[x * shape_.stride];
    }
  }
}

std::vector<double> exact_sums(const ConvShape& shape, const float* input, const float* weights) {
  validate(shape);
  const PreparedWeights prepared(shape, weights);
  std::vector<double> sums(static_cast<std::size_t>(shape.output_size()));
  parallel_images(
      shape.batch, threads_for(shape.multiply_adds()), [&] { return ImageOracle(shape, prepared); },
      [&](ImageOracle& oracle, int image) {
        double* const to = sums.data() + image * shape.output_image_size();
        oracle.load(input + image * shape.input_image_size());
        oracle.for_each_row([&](const OutputRow& at, const double* values, const double*) {
          std::copy_n(values, shape.out_width(), to + at.begin);
        });
      });
  return sums;
}

}  // namespace convlab::oracle
