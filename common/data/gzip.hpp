#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace convlab {

/// The decompressed bytes of a gzip file (magic 1f 8b); bytes without that magic are returned as
/// they are.
///
/// @param max_size  the largest result in bytes; a longer stream is refused as soon as it exceeds
/// this size
/// @param name      stands for the file in messages
/// @throws EnvironmentError for a stream that is truncated, damaged (deflate data, CRC or length),
///         too long, or followed by further bytes
std::vector<std::uint8_t> gunzip(std::vector<std::uint8_t> bytes, std::size_t max_size,
                                 const std::string& name);

/// A gzip file with these bytes, without a name or a date: the same bytes give the same file.
/// @throws EnvironmentError if zlib lacks memory
std::vector<std::uint8_t> gzip(const std::vector<std::uint8_t>& bytes);

}  // namespace convlab
