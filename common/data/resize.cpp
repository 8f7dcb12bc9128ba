// Bilinear resize with the same bits on every machine.
//
// Output pixel x looks at source position (x + ½)·S/N − ½, clamped into the image, between two
// neighbours. The share of the right one is rounded to 8 bits, likewise for rows, so the weighted
// sum of four pixels is an integer of at most 255·2¹⁶ < 2²⁴, which a float holds exactly. One
// division, correctly rounded by IEEE 754, is the only rounding.

#include "common/data/resize.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "common/base/error.hpp"

namespace convlab {

namespace {

constexpr int kMaxSize = 512;
constexpr int kOne = 256;  // an 8-bit share
constexpr float kScale = 255.0F * kOne * kOne;

/// Source pixels and shares of one output coordinate.
struct Mix {
  int first = 0;
  int second = 0;
  int first_share = 0;  // of kOne
  int second_share = 0;
};

std::vector<Mix> mixes(int source, int target) {
  std::vector<Mix> result;
  for (int x = 0; x < target; ++x) {
    // The position in units of 1 / (2·target) source pixels.
    const int unit = 2 * target;
    const int position = std::clamp((2 * x + 1) * source - target, 0, unit * (source - 1));
    const int first = position / unit;
    const int share = ((position % unit) * kOne + target) / unit;
    result.push_back({first, std::min(first + 1, source - 1), kOne - share, share});
  }
  return result;
}

}  // namespace

std::vector<float> resize_images(const Dataset& dataset, int count, int size) {
  if (count < 0 || count > dataset.count) {
    throw UsageError("There are " + std::to_string(dataset.count) + " images, not " +
                     std::to_string(count) + ".");
  }
  if (size < 1 || size > kMaxSize) {
    throw UsageError("Images are resized to 1 to " + std::to_string(kMaxSize) + " pixels, not " +
                     std::to_string(size) + ".");
  }
  const int height = dataset.height;
  const int width = dataset.width;
  const std::vector<Mix> rows = mixes(height, size);
  const std::vector<Mix> columns = mixes(width, size);
  const auto image_size = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  std::vector<float> result(static_cast<std::size_t>(count) * image_size);

#pragma omp parallel for schedule(static)
  for (int image = 0; image < count; ++image) {
    const std::uint8_t* const source =
        dataset.images.data() + static_cast<std::ptrdiff_t>(image) * height * width;
    float* target = result.data() + static_cast<std::size_t>(image) * image_size;
    for (const Mix& row : rows) {
      const std::uint8_t* const first = source + row.first * width;
      const std::uint8_t* const second = source + row.second * width;
      for (const Mix& column : columns) {
        const auto mixed = [&](const std::uint8_t* line) {
          return column.first_share * line[column.first] +
                 column.second_share * line[column.second];
        };
        const int sum = row.first_share * mixed(first) + row.second_share * mixed(second);
        *target++ = static_cast<float>(sum) / kScale;
      }
    }
  }
  return result;
}

}  // namespace convlab
