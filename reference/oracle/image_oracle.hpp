#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/base/conv_shape.hpp"
#include "common/base/in_threads.hpp"
#include "reference/oracle/kernels.hpp"

namespace convlab::oracle {

/// Unit roundoff of half precision and of TF32.
inline constexpr double kHalfRoundoff = 0x1p-11;

/// δ(x) / 2^-11, where δ(x) bounds the error of rounding x to a format of 11 bits whose numbers
/// below `smallest_normal` are equally far apart: max(|x|, smallest_normal), but at most |x| /
/// 2^-11, because rounding to zero moves x by |x|. |x| if `smallest_normal` is 0.
inline double rounding_magnitude(double value, double smallest_normal) {
  const double magnitude = std::fabs(value);
  return std::min(magnitude / kHalfRoundoff, std::max(magnitude, smallest_normal));
}

/// The weights of one convolution in double precision, in the order of the kernel: blocks of
/// kMapBlock maps, the last one filled up with zeros.
class PreparedWeights {
 public:
  /// @param smallest_normal  for the magnitudes, as of rounding_magnitude; 0 for |value|
  PreparedWeights(const ConvShape& shape, const float* weights, double smallest_normal = 0.0);

  [[nodiscard]] int blocks() const { return blocks_; }
  [[nodiscard]] const double* values(int block) const;
  [[nodiscard]] const double* magnitudes(int block) const;

 private:
  int blocks_;
  std::int64_t block_size_;
  std::vector<double> values_;
  std::vector<double> magnitudes_;
};

/// A row of the outputs of an image, out_channels × out_height × out_width.
struct OutputRow {
  int map;
  int row;
  std::int64_t begin;  ///< its first element
};

/// The exact convolution of one image, row by row. Each thread has its own.
class ImageOracle {
 public:
  /// `weights` must outlive this.
  ImageOracle(const ConvShape& shape, const PreparedWeights& weights);

  /// Takes an image, in_channels × height × width.
  /// @param smallest_normal  as of PreparedWeights
  void load(const float* image, double smallest_normal = 0.0);

  /// The same with magnitudes other than |value|, for the error bounds of expected.hpp.
  void load(const double* values, const double* magnitudes);

  /// Calls visit(row, values, magnitudes) for every row of the outputs: Σ a·b and Σ |a|·|b|,
  /// out_width() of each.
  template <class Visit>
  void for_each_row(const Visit& visit) {
    for (int first = 0; first < shape_.out_channels; first += kMapBlock) {
      for (int row = 0; row < shape_.out_height(); ++row) {
        compute_row(first / kMapBlock, row);
        for (int i = 0; i < kMapBlock && first + i < shape_.out_channels; ++i) {
          const std::int64_t line = std::int64_t{first + i} * shape_.out_height() + row;
          const std::int64_t from = std::int64_t{i} * padded_width_;
          visit(OutputRow{.map = first + i, .row = row, .begin = line * shape_.out_width()},
                row_values_.data() + from, row_magnitudes_.data() + from);
        }
      }
    }
  }

 private:
  // One row of kMapBlock maps.
  void compute_row(int block, int row);

  template <class Value, class Magnitude>
  void fill(Value value, Magnitude magnitude);

  ConvShape shape_;
  const PreparedWeights& weights_;
  int padded_width_;
  std::int64_t row_pitch_;
  std::int64_t channel_pitch_;
  std::vector<double> value_planes_;
  std::vector<double> magnitude_planes_;
  std::vector<double> row_values_;
  std::vector<double> row_magnitudes_;
};

/// How many threads so many products are worth.
inline int threads_for(std::int64_t products) {
  constexpr std::int64_t kWorthThread = 1'000'000;
  return static_cast<int>(
      std::clamp<std::int64_t>(products / kWorthThread, 1, omp_get_max_threads()));
}

/// Runs body(state, image) for every image, spread over threads; each thread makes its own state.
/// An exception in any thread reaches the caller after all threads have ended.
template <class MakeState, class Body>
void parallel_images(int batch, int most_threads, const MakeState& make_state, const Body& body) {
  std::atomic<int> next = 0;
  const auto work = [&](std::size_t /*thread*/) {
    auto state = make_state();
    for (int image = next++; image < batch; image = next++) body(state, image);
  };
  const auto threads = static_cast<std::size_t>(std::min(batch, most_threads));
  if (threads <= 1) return work(0);
  in_threads(threads, threads, work);
}

}  // namespace convlab::oracle
