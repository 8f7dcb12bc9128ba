#include "reference/oracle/oracle.hpp"

#include <algorithm>
#include <vector>

#include "reference/oracle/image_oracle.hpp"
#include "reference/oracle/parallel_images.hpp"

namespace convlab::oracle {

void for_each_image(const ConvShape& shape, const float* input, const float* weights,
                    const ImageVisitor& visit) {
  validate(shape);
  const PreparedWeights prepared(shape, weights);
  struct State {
    ImageOracle oracle;
    std::vector<double> values;
    std::vector<double> magnitudes;
  };
  const auto size = static_cast<std::size_t>(shape.output_image_size());
  parallel_images(
      shape.batch,
      [&] {
        return State{ImageOracle(shape, prepared), std::vector<double>(size),
                     std::vector<double>(size)};
      },
      [&](State& state, int image) {
        state.oracle.load(input + image * shape.input_image_size());
        state.oracle.for_each_row(
            [&](const OutputRow& at, const double* values, const double* magnitudes) {
              std::copy_n(values, shape.out_width(), state.values.data() + at.begin);
              std::copy_n(magnitudes, shape.out_width(), state.magnitudes.data() + at.begin);
            });
        visit(image, state.values, state.magnitudes);
      });
}

}  // namespace convlab::oracle
