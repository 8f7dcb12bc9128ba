#include "common/data/idx.hpp"

#include "common/base/error.hpp"

namespace convlab {

namespace {

constexpr std::size_t kMagicSize = 4;
constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr int kMaxDims = 4;

std::uint32_t read_big_endian(const std::uint8_t* bytes) {
  return (std::uint32_t{bytes[0]} << 24) | (std::uint32_t{bytes[1]} << 16) |
         (std::uint32_t{bytes[2]} << 8) | std::uint32_t{bytes[3]};
}

std::string shape_text(const std::vector<std::uint32_t>& dims) {
  std::string text;
  for (std::uint32_t dim : dims) text += (text.empty() ? "" : "×") + std::to_string(dim);
  return text;
}

}  // namespace

IdxArray parse_idx(const std::vector<std::uint8_t>& bytes, const std::string& name) {
  const auto refuse = [&name](const std::string& why) {
    throw EnvironmentError(name + " is not a sound IDX file: " + why +
                           "; fetch or install it again.");
  };
  if (bytes.size() < kMagicSize) {
    refuse("it has " + std::to_string(bytes.size()) + " bytes, too few for a header");
  }
  if (bytes[0] != 0 || bytes[1] != 0) refuse("it does not start with two zero bytes");
  if (bytes[2] != kUnsignedByte) {
    refuse("its element type is " + std::to_string(bytes[2]) + ", not 8 (unsigned byte)");
  }
  const int dim_count = bytes[3];
  if (dim_count < 1 || dim_count > kMaxDims) {
    refuse("it states " + std::to_string(dim_count) + " dimensions, not 1 to " +
           std::to_string(kMaxDims));
  }
  const std::size_t header_size = kMagicSize + 4 * static_cast<std::size_t>(dim_count);
  if (bytes.size() < header_size) {
    refuse("it ends after " + std::to_string(bytes.size()) + " bytes, inside its header of " +
           std::to_string(header_size));
  }

  std::vector<std::uint32_t> stated;
  std::uint64_t size = 1;
  bool possible = true;
  for (int d = 0; d < dim_count; ++d) {
    const std::uint32_t dim = read_big_endian(bytes.data() + kMagicSize + std::ptrdiff_t{4} * d);
    stated.push_back(dim);
    // Checked at every step, so that the product never leaves 64 bits.
    possible = possible && dim > 0 && dim <= kMaxIdxSize / size;
    if (possible) size *= dim;
  }
  if (!possible) {
    refuse("its dimensions " + shape_text(stated) + " are not from 1 to " +
           std::to_string(kMaxIdxSize) + " bytes in all");
  }
  if (bytes.size() - header_size != size) {
    refuse("its dimensions " + shape_text(stated) + " ask for " + std::to_string(size) +
           " bytes of data, but " + std::to_string(bytes.size() - header_size) +
           " follow the header");
  }

  IdxArray array;
  array.dims.assign(stated.begin(), stated.end());
  array.values.assign(bytes.begin() + static_cast<std::ptrdiff_t>(header_size), bytes.end());
  return array;
}

}  // namespace convlab
