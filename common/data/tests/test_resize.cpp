#include <omp.h>
#include <zlib.h>

#include <cstdint>
#include <utility>

#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/data/dataset.hpp"
#include "common/data/tests/made_up_data.hpp"

using convlab::Dataset;
using convlab::resize_images;

// Trained weights and expected counts depend on exactly these bits (little-endian floats). The
// checksums are those of the definition, pixel by pixel.
TEST_CASE("resize: as it has always been, with one thread and with many") {
  const auto crc_of = [](const Dataset& dataset, int size) {
    const convlab::Buffer all = resize_images(dataset, dataset.count, size);
    return crc32_z(0, reinterpret_cast<const Bytef*>(all.data()),
                   static_cast<std::size_t>(all.size()) * sizeof(float));
  };
  const Dataset dataset = convlab::synthetic_dataset(12, 5);
  Dataset oblong{.count = 2, .height = 3, .width = 5, .images = {}, .labels = {0, 1}};
  for (int i = 0; i < 30; ++i) oblong.images.push_back(static_cast<std::uint8_t>(i * 8));
  const int before = omp_get_max_threads();
  for (const int threads : {1, 7}) {
    omp_set_num_threads(threads);
    for (const auto& [size, crc] : {std::pair{1, 0x7604b32bU},
                                    {2, 0xca8a3421U},
                                    {27, 0xc3e4cdbcU},
                                    {28, 0x71825462U},
                                    {29, 0xcb1a4017U},
                                    {86, 0xe1d58f5fU},
                                    {512, 0x28c47e9bU}}) {
      CHECK(crc_of(dataset, size) == crc);
    }
    for (const auto& [size, crc] :
         {std::pair{1, 0x36ad991dU}, {4, 0xd9d447e1U}, {9, 0xd6995b45U}}) {
      CHECK(crc_of(oblong, size) == crc);
    }
  }
  omp_set_num_threads(before);
}

TEST_CASE("resize: a prefix of the images, and impossible requests are refused") {
  const Dataset dataset = convlab::synthetic_dataset(5, 8);
  CHECK(resize_images(dataset, 3, 10).size() == 300);
  for (const auto& [count, size] : {std::pair{6, 28}, {-1, 28}, {5, 0}, {5, 513}}) {
    CHECK_THROWS_AS(resize_images(dataset, count, size), convlab::UsageError);
  }
}
