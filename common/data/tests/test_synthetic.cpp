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

TEST_CASE("synthetic: the nearest class mean tells most images apart") {
  constexpr int kPixels = 28 * 28;
  const Dataset train = synthetic_dataset(1000, 1);
  std::vector<std::array<double, kPixels>> means(10);
  for (int i = 0; i < train.count; ++i) {
    for (int p = 0; p < kPixels; ++p) {
      means[train.labels[static_cast<std::size_t>(i)]][static_cast<std::size_t>(p)] +=
          train.images[static_cast<std::size_t>(i * kPixels + p)] / 100.0;
    }
  }
  const Dataset test = synthetic_dataset(500, 2);
  int correct = 0;
  for (int i = 0; i < test.count; ++i) {
    int best = -1;
    double best_distance = 0;
    for (int c = 0; c < 10; ++c) {
      double distance = 0;
      for (int p = 0; p < kPixels; ++p) {
        const double difference = test.images[static_cast<std::size_t>(i * kPixels + p)] -
                                  means[static_cast<std::size_t>(c)][static_cast<std::size_t>(p)];
        distance += difference * difference;
      }
      if (best < 0 || distance < best_distance) {
        best = c;
        best_distance = distance;
      }
    }
    if (best == test.labels[static_cast<std::size_t>(i)]) ++correct;
  }
  CHECK(correct >= 400);
}
