#include <algorithm>
#include <cmath>

#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "reference/oracle/oracle.hpp"
#include "reference/oracle/tests/fixtures.hpp"

using namespace convlab;

TEST_CASE("oracle: values agree with the seven loops in extended precision") {
  for (const ConvShape& shape : oracle::test_shapes()) {
    CAPTURE(to_string(shape));
    const auto input = oracle::random_floats(shape.input_size(), 1);
    const auto weights = oracle::random_floats(shape.weights_size(), 2);
    const auto values = oracle::exact_sums(shape, input.data(), weights.data());
    double largest_error = 0.0;
    oracle::naive_loops<long double>(shape, input, weights, [&](std::int64_t at, long double sum) {
      const double error = static_cast<double>(sum - values[static_cast<std::size_t>(at)]);
      largest_error = std::max(largest_error, std::fabs(error));
    });
    CHECK(largest_error < 1e-12);
  }
}

TEST_CASE("oracle: an impossible shape is refused") {
  CHECK_THROWS_AS(oracle::exact_sums({.batch = 0}, nullptr, nullptr), ShapeError);
}
