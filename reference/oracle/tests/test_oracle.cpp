#include <stdexcept>

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
    std::vector<double> values(static_cast<std::size_t>(shape.output_size()), -1e30);
    std::vector<double> magnitudes(values);
    oracle::for_each_image(shape, input.data(), weights.data(),
                           [&](int image, std::span<const double> v, std::span<const double> m) {
                             const auto offset = image * shape.output_image_size();
                             std::copy(v.begin(), v.end(), values.begin() + offset);
                             std::copy(m.begin(), m.end(), magnitudes.begin() + offset);
                           });
    int wrong = 0;
    oracle::naive_loops<long double>(
        shape, input, weights, [&](std::int64_t at, long double sum, long double magnitude) {
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

TEST_CASE("oracle: each image is visited once, and an exception of a visitor arrives") {
  const ConvShape shape{.batch = 57, .height = 3, .width = 3, .kernel = 2};
  const auto input = oracle::random_floats(shape.input_size(), 3);
  const auto weights = oracle::random_floats(shape.weights_size(), 4);
  std::vector<int> visits(57, 0);
  oracle::for_each_image(shape, input.data(), weights.data(),
                         [&](int image, std::span<const double>, std::span<const double>) {
                           ++visits[static_cast<std::size_t>(image)];
                         });
  CHECK(visits == std::vector<int>(57, 1));
  CHECK_THROWS_AS(
      oracle::for_each_image(shape, input.data(), weights.data(),
                             [](int image, std::span<const double>, std::span<const double>) {
                               if (image == 31) throw std::runtime_error("31");
                             }),
      std::runtime_error);
  CHECK_THROWS_AS(oracle::for_each_image({.batch = 0}, nullptr, nullptr, {}), ShapeError);
}
