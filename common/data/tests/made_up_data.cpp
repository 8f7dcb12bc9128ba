#include "common/data/tests/made_up_data.hpp"

#include <algorithm>
#include <cstdlib>

#include "common/base/whole_file.hpp"
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
  Dataset dataset{.count = count, .height = kSize, .width = kSize, .images = {}, .labels = {}};
  dataset.images.reserve(static_cast<std::size_t>(count) * kSize * kSize);
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    const int label = i % 10;
    const int centre_y = kSize / 2 + random.below(2 * kShift + 1) - kShift;
    const int centre_x = kSize / 2 + random.below(2 * kShift + 1) - kShift;
    const int brightness = 140 + random.below(116);
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

std::vector<std::uint8_t> format_idx(const IdxArray& array) {
  std::vector<std::uint8_t> bytes = {0, 0, 8, static_cast<std::uint8_t>(array.dims.size())};
  for (const int dim : array.dims) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(dim >> shift));
  }
  bytes.insert(bytes.end(), array.values.begin(), array.values.end());
  return bytes;
}

void write_array(const std::filesystem::path& folder, const std::string& name,
                 const IdxArray& array) {
  write_atomically(folder / name, format_idx(array));
}

void write_dataset(const std::filesystem::path& folder, Split split, const Dataset& dataset) {
  const std::string split_name = split == Split::kTest ? "t10k" : "train";
  write_array(folder, split_name + "-images-idx3-ubyte",
              {{dataset.count, dataset.height, dataset.width}, dataset.images});
  write_array(folder, split_name + "-labels-idx1-ubyte", {{dataset.count}, dataset.labels});
}

}  // namespace convlab
