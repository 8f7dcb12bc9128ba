#include "common/data/dataset.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "common/base/error.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/gzip.hpp"

namespace convlab {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPackageFolder = "/usr/share/datasets/fashion-mnist";
constexpr int kClasses = 10;
constexpr int kMaxImageSize = 512;

/// A file of the data folder, plain or with .gz.
IdxArray load_array(const fs::path& folder, const std::string& name, std::size_t dims) {
  fs::path file = folder / name;
  std::error_code ignored;
  if (!fs::exists(file, ignored)) file += ".gz";
  if (!fs::exists(file, ignored)) {
    throw EnvironmentError("The data folder " + folder.string() + " has neither " + name + " nor " +
                           name +
                           ".gz: install the package dataset-fashion-mnist, or set CONVLAB_DATA to "
                           "a folder that has it.");
  }
  return parse_idx(gunzip(read_bytes(file, kMaxIdxSize), kMaxIdxSize, file.string()), dims,
                   file.string());
}

}  // namespace

IdxArray parse_idx(const std::vector<std::uint8_t>& bytes, std::size_t dims,
                   const std::string& name) {
  const auto refuse = [&name](const std::string& why) {
    throw EnvironmentError(name + " is not a sound IDX file: " + why +
                           "; fetch or install it again.");
  };
  const std::array<std::uint8_t, 4> magic = {0, 0, 0x08, static_cast<std::uint8_t>(dims)};
  const std::size_t header = magic.size() + 4 * dims;
  if (bytes.size() < header || !std::equal(magic.begin(), magic.end(), bytes.begin())) {
    refuse("its header is not that of an array of bytes in " + std::to_string(dims) +
           " dimensions");
  }
  IdxArray array;
  double size = 1;  // no product of four dimensions overflows it
  std::string shape;
  for (std::size_t at = magic.size(); at < header; at += 4) {
    const std::uint32_t dim = std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
                              std::uint32_t{bytes[at + 2]} << 8 | std::uint32_t{bytes[at + 3]};
    array.dims.push_back(static_cast<int>(dim));
    shape += (shape.empty() ? "" : "×") + std::to_string(dim);
    size *= dim;
  }
  if (size == 0 || size != static_cast<double>(bytes.size() - header)) {
    refuse("its dimensions are " + shape + ", but " + std::to_string(bytes.size() - header) +
           " bytes follow the header");
  }
  array.values.assign(bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end());
  return array;
}

std::vector<fs::path> dataset_folders() {
  std::vector<fs::path> folders = {kPackageFolder};
  const char* const wish = std::getenv("CONVLAB_DATA");
  if (wish != nullptr && *wish != '\0') folders.emplace_back(wish);
  return folders;
}

Dataset load_dataset(Split split) {
  const fs::path folder = dataset_folders().back();
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw EnvironmentError("There is no folder " + folder.string() +
                           " with Fashion-MNIST: install the package dataset-fashion-mnist, or set "
                           "CONVLAB_DATA to a folder with t10k-images-idx3-ubyte and "
                           "t10k-labels-idx1-ubyte, plain or .gz.");
  }
  const std::string prefix = split == Split::kTest ? "t10k" : "train";
  IdxArray images = load_array(folder, prefix + "-images-idx3-ubyte", 3);
  IdxArray labels = load_array(folder, prefix + "-labels-idx1-ubyte", 1);
  const bool fits = std::max(images.dims[1], images.dims[2]) <= kMaxImageSize &&
                    images.dims[0] == labels.dims[0] &&
                    std::ranges::all_of(labels.values, [](int label) { return label < kClasses; });
  if (!fits) {
    throw EnvironmentError("The data set " + folder.string() +
                           " cannot be used: it needs one label from 0 to 9 for each image of at "
                           "most 512×512 pixels.");
  }
  return {.count = images.dims[0],
          .height = images.dims[1],
          .width = images.dims[2],
          .images = std::move(images.values),
          .labels = std::move(labels.values)};
}

namespace {

// Output pixel x looks at source position (x + ½)·S/N − ½, clamped into the image, between two
// neighbours. The share of the right one is rounded to 8 bits, likewise for rows, so the weighted
// sum of four pixels is an integer of at most 255·2¹⁶ < 2²⁴, which a float holds exactly. One
// division, correctly rounded by IEEE 754, is the only rounding.
constexpr int kOne = 256;  // an 8-bit share
constexpr float kScale = 255.0F * kOne * kOne;

/// Source pixels and shares of one output coordinate.
struct Mix {
  int first = 0;
  int second = 0;
  int share = 0;  // of the second one, in parts of kOne

  [[nodiscard]] int of(int left, int right) const { return (kOne - share) * left + share * right; }
};

std::vector<Mix> mixes(int source, int target) {
  std::vector<Mix> result;
  const int unit = 2 * target;  // positions are counted in units of 1 / unit source pixels
  for (int x = 0; x < target; ++x) {
    const int position = std::clamp((2 * x + 1) * source - target, 0, unit * (source - 1));
    const int first = position / unit;
    result.push_back(
        {first, std::min(first + 1, source - 1), ((position % unit) * kOne + target) / unit});
  }
  return result;
}

}  // namespace

Buffer resize_images(const Dataset& dataset, int count, int size) {
  if (count < 0 || count > dataset.count) {
    throw UsageError("There are " + std::to_string(dataset.count) + " images, not " +
                     std::to_string(count) + ".");
  }
  if (size < 1 || size > kMaxImageSize) {
    throw UsageError("Images are resized to 1 to " + std::to_string(kMaxImageSize) +
                     " pixels, not " + std::to_string(size) + ".");
  }
  const int width = dataset.width;
  const std::vector<Mix> rows = mixes(dataset.height, size);
  const std::vector<Mix> columns = mixes(width, size);
  const std::int64_t image_size = std::int64_t{size} * size;
  Buffer result(count * image_size);

#pragma omp parallel for schedule(static)
  for (int image = 0; image < count; ++image) {
    const std::uint8_t* const source =
        dataset.images.data() + static_cast<std::ptrdiff_t>(image) * dataset.height * width;
    float* target = result.data() + image * image_size;
    for (const Mix& row : rows) {
      const std::uint8_t* const upper = source + row.first * width;
      const std::uint8_t* const lower = source + row.second * width;
      for (const Mix& column : columns) {
        const int sum = row.of(column.of(upper[column.first], upper[column.second]),
                               column.of(lower[column.first], lower[column.second]));
        *target++ = static_cast<float>(sum) / kScale;
      }
    }
  }
  return result;
}

}  // namespace convlab
