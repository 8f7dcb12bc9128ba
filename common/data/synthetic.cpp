// A data set made of shapes, for tests that need no file.
//
// Ten classes, one figure each, drawn 28×28 with a random shift of up to two pixels, a random
// brightness and dark noise. Integer arithmetic and our own random generator give the same bytes
// for a seed on every machine.

#include <algorithm>
#include <cstdlib>

#include "common/base/error.hpp"
#include "common/data/dataset.hpp"
#include "common/data/random.hpp"

namespace convlab {

namespace {

constexpr int kSize = 28;
constexpr int kShift = 2;

// Whether the figure of this class covers the point (y, x), measured from its centre.
bool covers(int label, int y, int x) {
  const int far = std::max(std::abs(y), std::abs(x));
  const int radius_squared = y * y + x * x;
  switch (label) {
    case 0:
      return std::abs(y) <= 2 && far <= 9;  // bar, lying
    case 1:
      return std::abs(x) <= 2 && far <= 9;  // bar, standing
    case 2:
      return std::min(std::abs(y), std::abs(x)) <= 1 && far <= 9;  // plus
    case 3:
      return std::abs(std::abs(y) - std::abs(x)) <= 1 && far <= 9;  // cross
    case 4:
      return far <= 8;  // square
    case 5:
      return far <= 8 && far >= 7;  // frame
    case 6:
      return radius_squared <= 30;  // disc
    case 7:
      return radius_squared <= 81 && radius_squared >= 49;  // ring
    case 8:
      return y >= -8 && y <= 8 && std::abs(x) <= (y + 8) / 2;  // triangle
    default:
      return far <= 9 && (((y + 9) / 3 + (x + 9) / 3) % 2) == 0;  // chequers
  }
}

}  // namespace

Dataset synthetic_dataset(int count, std::uint32_t seed) {
  if (count < 1) {
    throw UsageError("A synthetic data set needs at least 1 image, not " + std::to_string(count) +
                     ".");
  }
  Dataset dataset{.count = count, .height = kSize, .width = kSize, .images = {}, .labels = {}};
  dataset.images.reserve(static_cast<std::size_t>(count) * kSize * kSize);
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    const int label = i % 10;
    const int centre_y = kSize / 2 + random.between(-kShift, kShift);
    const int centre_x = kSize / 2 + random.between(-kShift, kShift);
    const int brightness = random.between(140, 255);
    for (int y = 0; y < kSize; ++y) {
      for (int x = 0; x < kSize; ++x) {
        const int noise = random.below(40);
        const int ink = covers(label, y - centre_y, x - centre_x) ? brightness - noise : noise;
        dataset.images.push_back(static_cast<std::uint8_t>(ink));
      }
    }
    dataset.labels.push_back(static_cast<std::uint8_t>(label));
  }
  return dataset;
}

}  // namespace convlab
