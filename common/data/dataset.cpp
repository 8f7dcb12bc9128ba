#include "common/data/dataset.hpp"

#include <algorithm>
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
constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::size_t kMaxDims = 4;

fs::path data_folder() {
  const fs::path folder = dataset_folders().back();
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return folder;
  throw EnvironmentError("There is no folder " + folder.string() +
                         " with Fashion-MNIST: install the package dataset-fashion-mnist, or set "
                         "CONVLAB_DATA to a folder with t10k-images-idx3-ubyte and "
                         "t10k-labels-idx1-ubyte, plain or .gz.");
}

/// The file itself or, if it is not there, with .gz.
fs::path find_file(const fs::path& folder, const std::string& name) {
  for (const fs::path& file : {folder / name, folder / (name + ".gz")}) {
    std::error_code ignored;
    if (fs::exists(file, ignored)) return file;
  }
  throw EnvironmentError("The data folder " + folder.string() + " has neither " + name + " nor " +
                         name +
                         ".gz: install the package dataset-fashion-mnist, or set CONVLAB_DATA to a "
                         "folder that has it.");
}

IdxArray load_array(const fs::path& folder, const std::string& name) {
  const fs::path file = find_file(folder, name);
  return parse_idx(gunzip(read_bytes(file, kMaxIdxSize), kMaxIdxSize, file.string()),
                   file.string());
}

void check_dataset(const Dataset& dataset, const std::string& name) {
  const auto refuse = [&name](const std::string& why) {
    throw EnvironmentError("The data set " + name + " cannot be used: " + why + ".");
  };
  if (dataset.height < 1 || dataset.height > kMaxImageSize || dataset.width < 1 ||
      dataset.width > kMaxImageSize) {
    refuse("its images have " + std::to_string(dataset.height) + "×" +
           std::to_string(dataset.width) + " pixels, not 1 to " + std::to_string(kMaxImageSize) +
           " each way");
  }
  if (dataset.labels.size() != static_cast<std::size_t>(dataset.count)) {
    refuse("it has " + std::to_string(dataset.count) + " images but " +
           std::to_string(dataset.labels.size()) + " labels");
  }
  for (std::size_t i = 0; i < dataset.labels.size(); ++i) {
    if (dataset.labels[i] >= kClasses) {
      refuse("label " + std::to_string(i) + " is " + std::to_string(dataset.labels[i]) +
             ", not 0 to " + std::to_string(kClasses - 1));
    }
  }
}

}  // namespace

IdxArray parse_idx(const std::vector<std::uint8_t>& bytes, const std::string& name) {
  const auto refuse = [&name](const std::string& why) {
    throw EnvironmentError(name + " is not a sound IDX file: " + why +
                           "; fetch or install it again.");
  };
  const std::size_t dims = bytes.size() < 4 ? 0 : bytes[3];
  const std::size_t header = 4 + 4 * dims;
  if (dims < 1 || dims > kMaxDims || bytes[0] != 0 || bytes[1] != 0 || bytes[2] != kUnsignedByte ||
      bytes.size() < header) {
    refuse("its header is not that of an array of bytes in 1 to 4 dimensions");
  }
  IdxArray array;
  std::uint64_t size = 1;
  std::string shape;
  for (std::size_t at = 4; at < header; at += 4) {
    const std::uint32_t dim = std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
                              std::uint32_t{bytes[at + 2]} << 8 | std::uint32_t{bytes[at + 3]};
    array.dims.push_back(static_cast<int>(dim));
    shape += (shape.empty() ? "" : "×") + std::to_string(dim);
    // So that the product never leaves 64 bits; 0 stays 0.
    size = std::min<std::uint64_t>(size * std::min<std::uint64_t>(dim, kMaxIdxSize + 1),
                                   kMaxIdxSize + 1);
  }
  if (size == 0 || size != bytes.size() - header) {
    refuse("its dimensions are " + shape + ", but " + std::to_string(bytes.size() - header) +
           " bytes follow the header");
  }
  array.values.assign(bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end());
  return array;
}

std::vector<fs::path> dataset_folders() {
  std::vector<fs::path> folders = {kPackageFolder};
  if (const char* wish = std::getenv("CONVLAB_DATA"); wish != nullptr && *wish != '\0') {
    folders.emplace_back(wish);
  }
  return folders;
}

Dataset load_dataset(Split split) {
  const fs::path source = data_folder();
  const std::string prefix = split == Split::kTest ? "t10k" : "train";
  IdxArray images = load_array(source, prefix + "-images-idx3-ubyte");
  IdxArray labels = load_array(source, prefix + "-labels-idx1-ubyte");
  if (images.dims.size() != 3 || labels.dims.size() != 1) {
    throw EnvironmentError("The data set " + source.string() +
                           " cannot be used: images need 3 dimensions and labels 1, not " +
                           std::to_string(images.dims.size()) + " and " +
                           std::to_string(labels.dims.size()) + ".");
  }
  Dataset dataset{.count = images.dims[0],
                  .height = images.dims[1],
                  .width = images.dims[2],
                  .images = std::move(images.values),
                  .labels = std::move(labels.values)};
  check_dataset(dataset, source.string());
  return dataset;
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
  if (size < 1 || size > kMaxImageSize) {
    throw UsageError("Images are resized to 1 to " + std::to_string(kMaxImageSize) +
                     " pixels, not " + std::to_string(size) + ".");
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
