#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "reference/oracle/oracle.hpp"
#include "reference/oracle/tests/fixtures.hpp"

using namespace convlab;

TEST_CASE("oracle: values and magnitudes agree with the seven loops in extended precision") {
  for (const ConvShape& shape : oracle::test_shapes()) {
    CAPTURE(to_string(shape));
    const auto input = oracle::random_floats(shape.input_size(), 1);
    const auto weights = oracle::random_floats(shape.weights_size(), 2);
    const auto [values, magnitudes] = oracle::exact_sums(shape, input.data(), weights.data());
    int wrong = 0;
    oracle::naive_loops<long double>(
        shape, input, weights,
        [&, &values = values, &magnitudes = magnitudes](std::int64_t at, long double sum,
                                                        long double magnitude) {
          const auto i = static_cast<std::size_t>(at);
          const long double allowed = magnitude * 1e-14L;
          const bool good =
              std::fabs(static_cast<long double>(values[i]) - sum) <= allowed &&
              std::fabs(static_cast<long double>(magnitudes[i]) - magnitude) <= allowed;
          wrong += good ? 0 : 1;
        });
    CHECK(wrong == 0);
  }
}

TEST_CASE("oracle: an impossible shape is refused") {
  CHECK_THROWS_AS(oracle::exact_sums({.batch = 0}, nullptr, nullptr), ShapeError);
}
