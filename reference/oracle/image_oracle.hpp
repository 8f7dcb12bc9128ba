#pragma once

#include <vector>

#include "common/tensor/conv_shape.hpp"
#include "reference/oracle/kernels.hpp"

namespace convlab::oracle {

/// The weights of one convolution in double precision, in the order of the kernel: blocks of
/// kMapBlock maps, the last one filled up with zeros.
class PreparedWeights {
 public:
  PreparedWeights(const ConvShape& shape, const float* weights);

  [[nodiscard]] int blocks() const { return blocks_; }
  [[nodiscard]] const double* values(int block) const;
  [[nodiscard]] const double* magnitudes(int block) const;

 private:
  int blocks_;
  std::int64_t block_size_;
  std::vector<double> values_;
  std::vector<double> magnitudes_;
};

/// The exact convolution of one image, row by row. Each thread has its own.
class ImageOracle {
 public:
  /// `weights` must outlive this.
  ImageOracle(const ConvShape& shape, const PreparedWeights& weights);

  /// Takes an image, in_channels × height × width.
  void load(const float* image);

  /// The same with magnitudes other than |value|, for the error bounds of exact_network.hpp.
  void load(const double* values, const double* magnitudes);

  /// One row of the outputs of the maps kMapBlock·block, …: row i of values() is map
  /// kMapBlock·block + i, out_width() columns.
  void compute_row(int block, int row);

  /// Σ a·b
  [[nodiscard]] const double* values(int map_in_block) const;
  /// Σ |a|·|b|
  [[nodiscard]] const double* magnitudes(int map_in_block) const;

 private:
  template <class Value, class Magnitude>
  void fill(Value value, Magnitude magnitude);

  ConvShape shape_;
  const PreparedWeights& weights_;
  int padded_width_;
  std::int64_t phase_pitch_;
  std::int64_t row_pitch_;
  std::int64_t channel_pitch_;
  std::vector<double> value_planes_;
  std::vector<double> magnitude_planes_;
  std::vector<double> row_values_;
  std::vector<double> row_magnitudes_;
};

}  // namespace convlab::oracle
