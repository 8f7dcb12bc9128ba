#include <omp.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>

#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/data/dataset.hpp"
#include "common/data/tests/made_up_data.hpp"

using convlab::Dataset;
using convlab::resize_images;

namespace {

// The definition, pixel by pixel, in integers up to the one division.
std::vector<float> naive_resize(const Dataset& dataset, int count, int size) {
  const auto axis = [size](int source, int x, int& first, int& second) {
    const std::int64_t position = std::clamp<std::int64_t>((2 * x + 1) * source - size, 0,
                                                           std::int64_t{2} * size * (source - 1));
    first = static_cast<int>(position / (2 * size));
    second = std::min(first + 1, source - 1);
    return static_cast<int>((position % (2 * size) * 256 + size) / (2 * size));
  };
  std::vector<float> result;
  for (int b = 0; b < count; ++b) {
    for (int y = 0; y < size; ++y) {
      for (int x = 0; x < size; ++x) {
        int top = 0;
        int bottom = 0;
        int left = 0;
        int right = 0;
        const int down = axis(dataset.height, y, top, bottom);
        const int across = axis(dataset.width, x, left, right);
        const auto pixel = [&](int row, int column) {
          return int{dataset.images[static_cast<std::size_t>(
              (b * dataset.height + row) * dataset.width + column)]};
        };
        const int sum =
            (256 - down) * ((256 - across) * pixel(top, left) + across * pixel(top, right)) +
            down * ((256 - across) * pixel(bottom, left) + across * pixel(bottom, right));
        result.push_back(static_cast<float>(sum) / 16711680.0F);
      }
    }
  }
  return result;
}

std::vector<float> resized(const Dataset& dataset, int count, int size) {
  const convlab::Buffer images = resize_images(dataset, count, size);
  return {images.begin(), images.end()};
}

}  // namespace

TEST_CASE("resize: equals the definition bit for bit, at every size of the networks and odd ones") {
  const Dataset dataset = convlab::synthetic_dataset(12, 5);
  for (int size : {1, 2, 3, 13, 27, 28, 29, 48, 56, 64, 70, 72, 86, 200, 512}) {
    CHECK(resized(dataset, 12, size) == naive_resize(dataset, 12, size));
  }
  Dataset oblong{.count = 2, .height = 3, .width = 5, .images = {}, .labels = {0, 1}};
  for (int i = 0; i < 30; ++i) oblong.images.push_back(static_cast<std::uint8_t>(i * 8));
  for (int size : {1, 4, 9}) {
    CHECK(resized(oblong, 2, size) == naive_resize(oblong, 2, size));
  }
}

TEST_CASE("resize: the same with one thread and with many, and as it has always been") {
  const Dataset dataset = convlab::synthetic_dataset(50, 7);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const std::vector<float> one = resized(dataset, 50, 86);
  omp_set_num_threads(7);
  const std::vector<float> seven = resized(dataset, 50, 86);
  omp_set_num_threads(threads);
  CHECK(one == seven);
  const auto crc =
      crc32_z(0, reinterpret_cast<const Bytef*>(one.data()), one.size() * sizeof(float));
  // Trained weights and expected counts depend on exactly these bits (little-endian floats).
  CHECK(crc == 0x0562c8ab);
}

TEST_CASE("resize: a prefix of the images, and impossible requests are refused") {
  const Dataset dataset = convlab::synthetic_dataset(5, 8);
  CHECK(resized(dataset, 0, 28).empty());
  CHECK(resize_images(dataset, 3, 10).size() == 300);
  CHECK_THROWS_AS(resize_images(dataset, 6, 28), convlab::UsageError);
  CHECK_THROWS_AS(resize_images(dataset, -1, 28), convlab::UsageError);
  CHECK_THROWS_AS(resize_images(dataset, 5, 0), convlab::UsageError);
  CHECK_THROWS_AS(resize_images(dataset, 5, 513), convlab::UsageError);
}
