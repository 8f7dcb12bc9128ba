#include <array>

#include "common/base/error.hpp"
#include "common/base/testing/catch.hpp"
#include "common/data/dataset.hpp"

using convlab::Dataset;
using convlab::synthetic_dataset;

TEST_CASE("synthetic: shape of Fashion-MNIST, classes in equal numbers, same for a seed") {
  const Dataset a = synthetic_dataset(200, 3);
  CHECK(a.count == 200);
  CHECK(a.height == 28);
  CHECK(a.width == 28);
  REQUIRE(a.images.size() == 200 * 28 * 28);
  REQUIRE(a.labels.size() == 200);
  std::array<int, 10> counts{};
  for (std::uint8_t label : a.labels) ++counts.at(label);
  for (int count : counts) CHECK(count == 20);

  CHECK(synthetic_dataset(200, 3).images == a.images);
  CHECK(synthetic_dataset(200, 4).images != a.images);
  const Dataset prefix = synthetic_dataset(10, 3);
  CHECK(std::equal(prefix.images.begin(), prefix.images.end(), a.images.begin()));
  CHECK_THROWS_AS(synthetic_dataset(0, 3), convlab::UsageError);
}
