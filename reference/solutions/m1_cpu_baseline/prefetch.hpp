#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "common/base/conv_shape.hpp"

namespace convlab {

// Memory answers after hundreds of cycles. The multiplications of a tile take about as long. So a
// prefetch one tile ahead avoids the wait.

/// Floats in a cache line.
inline constexpr std::ptrdiff_t kLineFloats = 16;

/// Prefetches the lines of output that are stored next, those of some maps at each step: a core can
/// have about 16 lines in flight and waits if it requests more. A line must come from memory before
/// a part of it can be changed.
class NextOutput {
 public:
  /// @param output  `maps` rows of `count` floats, `map_size` floats apart
  /// @param steps   how often advance is called
  NextOutput(const float* output, std::ptrdiff_t count, int maps, std::ptrdiff_t map_size,
             int steps)
      : output_(output), count_(count), maps_(maps), map_size_(map_size), steps_(steps) {}

  void advance() {
    ++step_;
    for (; map_ < maps_ * step_ / steps_; ++map_) {
      for (std::ptrdiff_t i = 0; i < count_; i += kLineFloats) {
        __builtin_prefetch(output_ + map_ * map_size_ + i, 1);
      }
    }
  }

 private:
  const float* output_;
  std::ptrdiff_t count_;
  int maps_;
  std::ptrdiff_t map_size_;
  int steps_;
  int step_ = 0;
  int map_ = 0;
};

/// Prefetches the input of a thread's next item into the second-level cache, a few lines at each
/// step of the current one.
class NextInput {
 public:
  /// @param item   the thread's next one of batch · bands; past the end: no prefetch
  /// @param steps  how often advance is called
  NextInput(const ConvShape& shape, const float* input, std::int64_t item, int bands, int steps) {
    const std::int64_t image_size = shape.input_image_size();
    if (item >= std::int64_t{shape.batch} * bands) return;
    // The inputs of neighbouring bands overlap. Equal parts of the image are enough, because the
    // other bands prefetch the rest.
    next_ = input + item / bands * image_size + item % bands * image_size / bands;
    end_ = input + item / bands * image_size + (item % bands + 1) * image_size / bands;
    floats_per_step_ = (end_ - next_ + steps - 1) / steps;
  }

  void advance() {
    const float* const stop = std::min(end_, next_ + floats_per_step_);
    for (; next_ < stop; next_ += kLineFloats) __builtin_prefetch(next_, 0, 2);
  }

 private:
  const float* next_ = nullptr;
  const float* end_ = nullptr;
  std::ptrdiff_t floats_per_step_ = 0;
};

}  // namespace convlab
