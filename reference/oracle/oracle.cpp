#include "reference/oracle/oracle.hpp"

#include <algorithm>

#include "reference/oracle/image_oracle.hpp"
#include "reference/oracle/parallel_images.hpp"

namespace convlab::oracle {

ExactSums exact_sums(const ConvShape& shape, const float* input, const float* weights) {
  validate(shape);
  const PreparedWeights prepared(shape, weights);
  ExactSums sums{.values = std::vector<double>(static_cast<std::size_t>(shape.output_size())),
                 .magnitudes = std::vector<double>(static_cast<std::size_t>(shape.output_size()))};
  parallel_images(
      shape.batch, [&] { return ImageOracle(shape, prepared); },
      [&](ImageOracle& oracle, int image) {
        const std::int64_t begin = image * shape.output_image_size();
        oracle.load(input + image * shape.input_image_size());
        oracle.for_each_row(
            [&](const OutputRow& at, const double* values, const double* magnitudes) {
              std::copy_n(values, shape.out_width(), sums.values.data() + begin + at.begin);
              std::copy_n(magnitudes, shape.out_width(), sums.magnitudes.data() + begin + at.begin);
            });
      });
  return sums;
}

}  // namespace convlab::oracle
