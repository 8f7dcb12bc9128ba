#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

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

/// Loads Fashion-MNIST (or a data set in the same four files).
///
/// The folder is CONVLAB_DATA or, without it, that of Debian's package dataset-fashion-mnist. Files
/// may be plain or .gz. Sizes and a CRC-32 of the decompressed bytes are verified: against the
/// folder's own manifest.json if it has one, else against Fashion-MNIST.
///
/// @throws EnvironmentError: no data (says which package or folder), or a damaged file
Dataset load_dataset(Split split);

/// The folders in which load_dataset may find a data set, whether they exist or not.
std::vector<std::filesystem::path> dataset_folders();

}  // namespace convlab
