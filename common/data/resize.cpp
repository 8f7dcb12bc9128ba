// Bilinear resize with the same bits on every machine.
//
// Idea  Output pixel x looks at source position (x + ½)·S/N − ½, clamped into the image, between
//       two neighbours. The share of the right one is rounded to 8 bits, likewise for rows, so the
//       weighted sum of four pixels is an integer of at most 255·2¹⁶ < 2²⁴: every float below 2²⁴
//       holds it exactly, whatever the order, vector width or fused operations. One division,
//       correctly rounded by IEEE 754, is the only rounding.
// Cost  Two passes per image: widen the rows of the source once (28·N), then mix them in pairs
//       (N·N). Most of the time goes into writing count·N·N floats.

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
  float first_share = 0;  // of kOne
  float second_share = 0;
};

std::vector<Mix> mixes(int source, int target) {
  std::vector<Mix> result;
  for (int x = 0; x < target; ++x) {
    // The position in units of 1 / (2·target) source pixels.
    const int unit = 2 * target;
    const int position = std::clamp((2 * x + 1) * source - target, 0, unit * (source - 1));
    const int first = position / unit;
    const int share = ((position % unit) * kOne + target) / unit;
    result.push_back({first, std::min(first + 1, source - 1), static_cast<float>(kOne - share),
                      static_cast<float>(share)});
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

#pragma omp parallel
  {
    std::vector<float> widened(static_cast<std::size_t>(height) * static_cast<std::size_t>(size));
#pragma omp for schedule(static)
    for (int image = 0; image < count; ++image) {
      const std::uint8_t* source =
          dataset.images.data() + static_cast<std::ptrdiff_t>(image) * height * width;
      for (int y = 0; y < height; ++y) {
        float* row = widened.data() + std::ptrdiff_t{y} * size;
        for (int x = 0; x < size; ++x) {
          const Mix& mix = columns[static_cast<std::size_t>(x)];
          row[x] = mix.first_share * static_cast<float>(source[y * width + mix.first]) +
                   mix.second_share * static_cast<float>(source[y * width + mix.second]);
        }
      }
      float* target = result.data() + static_cast<std::size_t>(image) * image_size;
      for (int y = 0; y < size; ++y) {
        const Mix& mix = rows[static_cast<std::size_t>(y)];
        const float* first = widened.data() + std::ptrdiff_t{mix.first} * size;
        const float* second = widened.data() + std::ptrdiff_t{mix.second} * size;
        for (int x = 0; x < size; ++x) {
          target[y * size + x] =
              (mix.first_share * first[x] + mix.second_share * second[x]) / kScale;
        }
      }
    }
  }
  return result;
}

}  // namespace convlab
