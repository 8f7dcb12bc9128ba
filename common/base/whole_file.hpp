#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace convlab {

/// Replaces `file` by one with this content, or leaves it as it was: writes a temporary file beside
/// it and renames. A reader at any moment, also after an interruption, sees the old content or the
/// new, never a part. Creates the folder. Writes directly to a device such as /dev/stdout.
/// @throws EnvironmentError with the system's reason (no space, no permission, …) and what to do
void write_atomically(const std::filesystem::path& file, std::string_view text);
void write_atomically(const std::filesystem::path& file, std::span<const std::uint8_t> bytes);

/// Tests whether write_atomically may write `file`, for programs that work for a long time before
/// they write. Creates the folder.
/// @throws EnvironmentError as write_atomically
void require_writable(const std::filesystem::path& file);

/// The whole text of a file. @throws EnvironmentError if it cannot be read.
std::string read_text(const std::filesystem::path& file);

/// The whole file. @throws EnvironmentError if it cannot be read or has more than `max_size` bytes.
std::vector<std::uint8_t> read_bytes(const std::filesystem::path& file, std::size_t max_size);

}  // namespace convlab
