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
        for (int map = 0; map < shape.out_channels; map += kMapBlock) {
          const int maps = std::min(kMapBlock, shape.out_channels - map);
          for (int row = 0; row < shape.out_height(); ++row) {
            state.oracle.compute_row(map / kMapBlock, row);
            for (int i = 0; i < maps; ++i) {
              const std::int64_t to =
                  (std::int64_t{map + i} * shape.out_height() + row) * shape.out_width();
              std::copy_n(state.oracle.values(i), shape.out_width(), state.values.data() + to);
              std::copy_n(state.oracle.magnitudes(i), shape.out_width(),
                          state.magnitudes.data() + to);
            }
          }
        }
        visit(image, state.values, state.magnitudes);
      });
}

}  // namespace convlab::oracle
