#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace convlab {

/// A whole file. @throws EnvironmentError if it cannot be read or is larger than `max_size` bytes.
std::vector<std::uint8_t> read_bytes(const std::filesystem::path& file, std::size_t max_size);

/// Writes a temporary file beside `file`, then renames it: whoever opens `file` at any moment, or
/// after an interruption, sees the old bytes or the new ones, never a part.
/// @throws EnvironmentError if the folder cannot be written
void write_bytes(const std::filesystem::path& file, std::span<const std::uint8_t> bytes);

}  // namespace convlab
