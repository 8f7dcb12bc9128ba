#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/data/dataset.hpp"

namespace convlab {

/// A small data set with the shape of Fashion-MNIST, the same for a seed on every machine: ten
/// classes, one figure each, with a random shift, a random brightness and dark noise.
Dataset synthetic_dataset(int count, std::uint32_t seed);

/// The bytes that parse_idx reads back.
std::vector<std::uint8_t> format_idx(const IdxArray& array);

/// Writes an IDX file.
void write_array(const std::filesystem::path& folder, const std::string& name,
                 const IdxArray& array);

/// Writes a data set, unchecked, so that load_dataset takes the folder.
void write_dataset(const std::filesystem::path& folder, Split split, const Dataset& dataset);

}  // namespace convlab
