#include "reference/training/dense_layer.hpp"

#include <algorithm>

#include "common/simd/isa.hpp"
#include "reference/training/sum_kernels.hpp"

namespace convlab::training {

namespace {

// Columns that are computed together, so that this slice of all weight rows stays in the
// second-level cache. A multiple of every kernel's tile.
constexpr std::int64_t kColumns = 960;
constexpr int kImages = 32;

// Where `rows` rows of `pitch` floats begin.
std::vector<std::int64_t> row_offsets(int rows, std::int64_t pitch) {
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(rows));
  for (int r = 0; r < rows; ++r) offsets.push_back(r * pitch);
  return offsets;
}

std::vector<float> transposed(const float* matrix, int rows, int columns) {
  std::vector<float> result(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      const std::ptrdiff_t to = std::ptrdiff_t{c} * rows + r;
      result[static_cast<std::size_t>(to)] = matrix[std::ptrdiff_t{r} * columns + c];
    }
  }
  return result;
}

}  // namespace

TrainableDense::TrainableDense(const DenseLayer& layer, const FeatureShape& in)
    : units_(layer.units), inputs_(in.size()) {
  const auto size = static_cast<std::size_t>(units_ * inputs_);
  weights_ = {std::vector<float>(size), std::vector<float>(size)};
  bias_ = {std::vector<float>(static_cast<std::size_t>(units_)),
           std::vector<float>(static_cast<std::size_t>(units_))};
}

void TrainableDense::forward(const float* input, float* output, int images, Scratch& /*scratch*/) {
  const std::vector<std::int64_t> offsets = row_offsets(units_, inputs_);
  const auto dot_products = CONVLAB_ISA_SELECT(dot_products);
#pragma omp parallel for schedule(dynamic)
  for (int first = 0; first < images; first += kImages) {
    const int count = std::min(kImages, images - first);
    float* out = output + std::int64_t{first} * units_;
    for (int i = 0; i < count; ++i) {
      std::copy_n(bias_.values.data(), units_, out + std::int64_t{i} * units_);
    }
    for (std::int64_t column = 0; column < inputs_; column += kColumns) {
      dot_products(input + first * inputs_ + column, inputs_, weights_.values.data() + column,
                   offsets.data(), units_, count, out, units_,
                   std::min(kColumns, inputs_ - column));
    }
  }
}

void TrainableDense::backward(const float* input, const float* /*output*/, const float* d_output,
                              float* d_input, int images, int /*part*/, Scratch& /*scratch*/) {
  bias_.gradient.assign(bias_.values.size(), 0.0F);
  for (int i = 0; i < images; ++i) {
    for (int u = 0; u < units_; ++u) {
      bias_.gradient[static_cast<std::size_t>(u)] += d_output[std::int64_t{i} * units_ + u];
    }
  }
  const std::vector<float> d_output_by_unit = transposed(d_output, images, units_);
  const std::vector<std::int64_t> unit_offsets = row_offsets(units_, inputs_);
  const std::vector<std::int64_t> image_offsets = row_offsets(images, inputs_);
  const auto weighted_sums = CONVLAB_ISA_SELECT(weighted_sums);
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t column = 0; column < inputs_; column += kColumns) {
    const std::int64_t count = std::min(kColumns, inputs_ - column);
    weighted_sums(d_output, units_, input + column, image_offsets.data(), images, units_,
                  weights_.gradient.data() + column, inputs_, count);
    if (d_input != nullptr) {
      weighted_sums(d_output_by_unit.data(), images, weights_.values.data() + column,
                    unit_offsets.data(), units_, images, d_input + column, inputs_, count);
    }
  }
}

}  // namespace convlab::training
