#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace convlab {

/// An array of bytes as the IDX format of MNIST stores it: row-major, one to four dimensions.
///
///     byte  0  1   0 0
///     byte  2      element type: 0x08, unsigned byte; the other types are refused
///     byte  3      number of dimensions
///     then         each dimension, 32 bits, most significant byte first
///     then         the elements
struct IdxArray {
  std::vector<int> dims;
  std::vector<std::uint8_t> values;  ///< as many as the product of dims
};

/// The largest size of an unpacked IDX file in bytes: five times the 60 000 training images.
inline constexpr std::size_t kMaxIdxSize = std::size_t{256} << 20;

/// @param name  stands for the file in messages
/// @throws EnvironmentError for bytes that are not exactly one IDX array of unsigned bytes with
///         positive dimensions
IdxArray parse_idx(const std::vector<std::uint8_t>& bytes, const std::string& name);

}  // namespace convlab
