#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "common/base/tests/support/catch.hpp"
#include "common/network/network.hpp"

using namespace convlab;

TEST_CASE("network: activations let a NaN of the convolution be seen") {
  for (const auto& [function, of_minus_one] : {std::pair{ActivationFunction::kRelu, 0.0f},
                                               {ActivationFunction::kTanh, std::tanh(-1.0f)}}) {
    std::vector<float> values = {NAN, -1.0f};
    run_layer(ActivationLayer{function}, {1, 1, 2}, nullptr, nullptr, values.data(), values.data(),
              1);
    CHECK(std::isnan(values[0]));
    CHECK(values[1] == of_minus_one);
  }
}

TEST_CASE("network: argmax takes the first of equals and no NaN") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(argmax({1, 3, 3, 0, 0, 0, nan, 1, 2}, 3) == std::vector<int>{1, 0, 2});
}
