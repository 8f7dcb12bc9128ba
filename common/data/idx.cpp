#include "common/data/idx.hpp"

#include <algorithm>

#include "common/base/error.hpp"

namespace convlab {

namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::size_t kMaxDims = 4;

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

}  // namespace convlab
