#pragma once

#include <filesystem>
#include <string>

namespace convlab {

/// Replaces `file` by one with this text, or leaves it as it was: writes a temporary file beside
/// it, flushes it to the disk and renames. Creates the folder.
/// @throws EnvironmentError with the system's reason (no space, no permission, …).
void write_atomically(const std::filesystem::path& file, const std::string& text);

/// The whole text of a file. @throws EnvironmentError if it cannot be read.
std::string read_text(const std::filesystem::path& file);

}  // namespace convlab
