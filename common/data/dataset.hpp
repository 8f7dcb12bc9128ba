#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/buffer.hpp"

namespace convlab {

/// Images and labels as stored on disk.
struct Dataset {
  int count = 0;
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> images;  ///< count × height × width
  std::vector<std::uint8_t> labels;  ///< count
};

enum class Split { kTest, kTrain };

/// Loads Fashion-MNIST (or a data set in the same four files, plain or .gz) from CONVLAB_DATA or,
/// without it, from the folder of Debian's package dataset-fashion-mnist.
/// @throws EnvironmentError: no data (says which package or folder), or a damaged file
Dataset load_dataset(Split split);

/// An array of bytes as the IDX format of MNIST stores it: bytes 0, 0, 8 (the type) and the number
/// of dimensions, each of these in 32 bits, most significant byte first, then the elements.
struct IdxArray {
  std::vector<int> dims;
  std::vector<std::uint8_t> values;  ///< as many as the product of dims
};

/// The largest size of an unpacked IDX file in bytes: five times the 60 000 training images.
inline constexpr std::size_t kMaxIdxSize = std::size_t{256} << 20;

/// @param name  stands for the file in messages
/// @throws EnvironmentError for bytes that are not exactly one such array of so many positive
///         dimensions
IdxArray parse_idx(const std::vector<std::uint8_t>& bytes, std::size_t dims,
                   const std::string& name);

/// The folders in which load_dataset may find a data set, whether they exist or not.
std::vector<std::filesystem::path> dataset_folders();

/// The first `count` images, resized (bilinear, half-pixel centres, edges clamped), then v / 255.
/// Weights are integers over a power of two, so that the result is the same, bit for bit, with
/// every compiler and thread count.
/// @return count × size × size
Buffer resize_images(const Dataset& dataset, int count, int size);

}  // namespace convlab
