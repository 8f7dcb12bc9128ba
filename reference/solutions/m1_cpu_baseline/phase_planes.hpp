#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "reference/solutions/m1_cpu_baseline/vec.hpp"

namespace convlab {

/// The input of a band of output rows, copied so that neighbouring outputs read neighbouring
/// pixels.
///
/// With stride S the pixels that one tap multiplies lie S apart, and a vector load cannot fetch
/// them. So row h, column w of channel c goes to the plane (c, h mod S, w mod S), at row h / S,
/// column w / S. For stride 2 and a 4×6 image:
///
///     a b c d e f        a c e   b d f
///     g h i j k l   →    m o q   n p r
///     m n o p q r
///     s t u v w x        g i k   h j l
///                        s u w   t v x
///
/// The pixels of a tap are neighbours in its plane. For output (h, w) the pixel of tap (c, p, q)
/// lies at h · pitch + w plus an offset that depends only on the tap: offsets(). So one loop over
/// offsets serves every kernel and stride. With stride 1 each channel has one plane, the channel
/// itself.
class PhasePlanes {
 public:
  /// Bands of `band_rows` output rows of images of this shape.
  PhasePlanes(const ConvShape& shape, int band_rows)
      : shape_(shape),
        phases_(std::min(shape.stride, shape.kernel)),
        rows_(band_rows + (shape.kernel - 1) / shape.stride),
        pitch_(shape.out_width() + (shape.kernel - 1) / shape.stride) {
    const int stride = shape.stride;
    for (int c = 0; c < shape.in_channels; ++c) {
      for (int p = 0; p < shape.kernel; ++p) {
        for (int q = 0; q < shape.kernel; ++q) {
          offsets_.push_back(plane(c, p % stride, q % stride) +
                             static_cast<std::ptrdiff_t>(p / stride) * pitch_ + q / stride);
        }
      }
    }
  }

  /// Rows of a band whose planes hold about `floats` numbers. Fewer if some threads would get no
  /// band; at most the rows of the output.
  static int band_rows(const ConvShape& shape, std::int64_t floats, int threads) {
    const PhasePlanes one_row(shape, 1);
    const std::int64_t per_row = one_row.size() / one_row.rows_;
    const std::int64_t fitting = floats / per_row - (shape.kernel - 1) / shape.stride;
    const int bands_wanted = (threads + shape.batch - 1) / shape.batch;
    const int shared = (shape.out_height() + bands_wanted - 1) / bands_wanted;
    return static_cast<int>(std::clamp<std::int64_t>(fitting, 1, shared));
  }

  [[nodiscard]] int pitch() const { return pitch_; }
  /// For each tap, in the order of the weights.
  [[nodiscard]] const std::ptrdiff_t* offsets() const { return offsets_.data(); }
  /// Floats of all planes.
  [[nodiscard]] std::ptrdiff_t size() const { return plane(shape_.in_channels, 0, 0); }

  /// Whether the planes of a band would equal the image: stride 1 and one band. Then the image
  /// itself is used.
  [[nodiscard]] bool equal_image() const { return shape_.stride == 1 && rows_ == shape_.height; }

  /// Copies the input of output rows first_row to first_row + band_rows - 1, except rows below the
  /// output.
  /// @param image   in_channels × height × width
  /// @param planes  size() floats, all of them written
  void pack(const float* image, int first_row, float* planes) const {
    const int stride = shape_.stride;
    for (int c = 0; c < shape_.in_channels; ++c) {
      const float* const channel = image + std::int64_t{c} * shape_.height * shape_.width;
      for (int i = 0; i < phases_; ++i) {
        for (int j = 0; j < phases_; ++j) {
          // If the width is not a multiple of the stride, the later phases have one column less.
          const int columns = std::min(pitch_, (shape_.width - 1 - j) / stride + 1);
          float* row = planes + plane(c, i, j);
          for (int r = 0; r < rows_; ++r, row += pitch_) {
            const std::int64_t h = std::int64_t{first_row + r} * stride + i;
            if (h >= shape_.height) {
              std::fill_n(row, pitch_, 0.0f);
              continue;
            }
            const float* const from = channel + h * shape_.width + j;
            if (stride == 1) {
              copy_row(from, row, columns);
            } else {
              for (int x = 0; x < columns; ++x) row[x] = from[std::int64_t{x} * stride];
            }
            std::fill(row + columns, row + pitch_, 0.0f);
          }
        }
      }
    }
  }

 private:
  [[nodiscard]] std::ptrdiff_t plane(int c, int i, int j) const {
    return ((static_cast<std::ptrdiff_t>(c) * phases_ + i) * phases_ + j) * rows_ * pitch_;
  }

  ConvShape shape_;
  int phases_;  // planes per channel along each axis, without phases that no tap reads
  int rows_;
  int pitch_;
  std::vector<std::ptrdiff_t> offsets_;
};

}  // namespace convlab
