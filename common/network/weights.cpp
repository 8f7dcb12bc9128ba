#include "common/network/weights.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "common/base/error.hpp"
#include "common/base/whole_file.hpp"

namespace convlab {

namespace {

constexpr char kMagic[4] = {'C', 'L', 'W', '1'};
constexpr std::size_t kHeaderBytes = 8;  // magic, count
constexpr std::size_t kChecksumBytes = 4;
constexpr std::uint32_t kMaxParameters = 256;
constexpr std::uint32_t kMaxNameBytes = 64;
constexpr std::uint32_t kMaxDims = 4;
constexpr std::uint64_t kMaxValues = std::uint64_t{1} << 27;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

std::uint32_t crc_of(const std::uint8_t* bytes, std::size_t size) {
  return static_cast<std::uint32_t>(crc32_z(0, bytes, size));
}

/// Reads little-endian values from a byte range, never past its end.
class Reader {
 public:
  Reader(const std::uint8_t* begin, std::size_t size, const std::string& name)
      : bytes_(begin), left_(size), name_(name) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw EnvironmentError("The weight file " + name_ + " " + what +
                           "; restore it (git checkout common/network/weights) or train it again.");
  }

  const std::uint8_t* take(std::size_t size) {
    if (size > left_) fail("is truncated");
    const std::uint8_t* taken = bytes_;
    bytes_ += size;
    left_ -= size;
    return taken;
  }

  std::uint32_t u32() {
    const std::uint8_t* b = take(4);
    return std::uint32_t{b[0]} | std::uint32_t{b[1]} << 8 | std::uint32_t{b[2]} << 16 |
           std::uint32_t{b[3]} << 24;
  }

  float f32() {
    const float value = std::bit_cast<float>(u32());
    if (!std::isfinite(value)) fail("holds a value that is not finite");
    return value;
  }

  [[nodiscard]] std::size_t left() const { return left_; }

 private:
  const std::uint8_t* bytes_;
  std::size_t left_;
  const std::string& name_;
};

class Writer {
 public:
  void raw(const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::uint8_t*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
  }
  void u32(std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes_.push_back(static_cast<std::uint8_t>(value >> shift));
    }
  }
  void f32(float value) { u32(std::bit_cast<std::uint32_t>(value)); }

  std::vector<std::uint8_t> bytes_;
};

std::size_t rows_of(const Parameter& parameter) {
  return parameter.dims.empty() ? 1 : static_cast<std::size_t>(parameter.dims[0]);
}

std::size_t size_of(const std::vector<int>& dims) {
  std::size_t size = 1;
  for (int dim : dims) size *= static_cast<std::size_t>(dim);
  return size;
}

// One row of an int8 parameter: the scale maps the largest magnitude to 127.
float row_scale(const float* row, std::size_t columns) {
  float largest = 0;
  for (std::size_t i = 0; i < columns; ++i) largest = std::max(largest, std::fabs(row[i]));
  return largest / 127.0f;
}

std::int8_t quantised(float value, float scale) {
  if (scale == 0.0f) return 0;
  return static_cast<std::int8_t>(std::lrintf(std::clamp(value / scale, -127.0f, 127.0f)));
}

void read_values(Reader& reader, Parameter& parameter) {
  const std::size_t size = size_of(parameter.dims);
  if (parameter.encoding == Encoding::kFloat32) {
    if (reader.left() / 4 < size) reader.fail("is truncated");
    parameter.values.reserve(size);
    for (std::size_t i = 0; i < size; ++i) parameter.values.push_back(reader.f32());
    return;
  }
  const std::size_t rows = rows_of(parameter);
  const std::size_t columns = size / rows;
  if (reader.left() < rows * 4 + size) reader.fail("is truncated");
  std::vector<float> scales;
  scales.reserve(rows);
  for (std::size_t r = 0; r < rows; ++r) scales.push_back(reader.f32());
  parameter.values.reserve(size);
  for (const float scale : scales) {
    const std::uint8_t* codes = reader.take(columns);
    for (std::size_t c = 0; c < columns; ++c) {
      const float value = scale * static_cast<float>(std::bit_cast<std::int8_t>(codes[c]));
      if (!std::isfinite(value)) reader.fail("holds a value that is not finite");
      parameter.values.push_back(value);
    }
  }
}

void write_values(Writer& writer, const Parameter& parameter) {
  if (parameter.encoding == Encoding::kFloat32) {
    for (float value : parameter.values) writer.f32(value);
    return;
  }
  const std::size_t rows = rows_of(parameter);
  const std::size_t columns = parameter.values.size() / rows;
  std::vector<float> scales;
  for (std::size_t r = 0; r < rows; ++r) {
    scales.push_back(row_scale(&parameter.values[r * columns], columns));
    writer.f32(scales.back());
  }
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    const std::int8_t code = quantised(parameter.values[i], scales[i / columns]);
    writer.bytes_.push_back(std::bit_cast<std::uint8_t>(code));
  }
}

std::vector<std::uint8_t> serialise(const Weights& weights) {
  Writer writer;
  writer.raw(kMagic, sizeof kMagic);
  writer.u32(static_cast<std::uint32_t>(weights.parameters.size()));
  for (const Parameter& parameter : weights.parameters) {
    if (parameter.values.size() != size_of(parameter.dims)) {
      throw EnvironmentError("The parameter " + parameter.name + " has " +
                             std::to_string(parameter.values.size()) + " values instead of " +
                             std::to_string(size_of(parameter.dims)) + ".");
    }
    writer.u32(static_cast<std::uint32_t>(parameter.name.size()));
    writer.raw(parameter.name.data(), parameter.name.size());
    writer.u32(static_cast<std::uint32_t>(parameter.encoding));
    writer.u32(static_cast<std::uint32_t>(parameter.dims.size()));
    for (int dim : parameter.dims) writer.u32(static_cast<std::uint32_t>(dim));
    write_values(writer, parameter);
  }
  writer.u32(crc_of(writer.bytes_.data(), writer.bytes_.size()));
  return std::move(writer.bytes_);
}

std::string to_string(const std::vector<int>& dims) {
  std::string text;
  for (int dim : dims) text += (text.empty() ? "" : "×") + std::to_string(dim);
  return text;
}

}  // namespace

const Parameter& Weights::at(const std::string& name) const {
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name) return parameter;
  }
  throw EnvironmentError("The weights hold no parameter '" + name + "'.");
}

Weights empty_weights(const Preset& preset) {
  Weights weights;
  const std::vector<FeatureShape> shapes = preset.feature_shapes();
  int convs = 0;
  int denses = 0;
  for (std::size_t i = 0; i < preset.layers.size(); ++i) {
    if (const auto* conv = std::get_if<ConvLayer>(&preset.layers[i])) {
      weights.parameters.push_back(
          {.name = "conv" + std::to_string(++convs) + ".weights",
           .encoding = Encoding::kFloat32,
           .dims = {conv->out_channels, shapes[i].channels, conv->kernel, conv->kernel},
           .values = {}});
    } else if (const auto* dense = std::get_if<DenseLayer>(&preset.layers[i])) {
      const std::string name = "dense" + std::to_string(++denses);
      weights.parameters.push_back({.name = name + ".weights",
                                    .encoding = Encoding::kInt8PerRow,
                                    .dims = {dense->units, static_cast<int>(shapes[i].size())},
                                    .values = {}});
      weights.parameters.push_back({.name = name + ".bias",
                                    .encoding = Encoding::kFloat32,
                                    .dims = {dense->units},
                                    .values = {}});
    }
  }
  return weights;
}

Weights parse_weights(const std::vector<std::uint8_t>& bytes, const std::string& name) {
  Reader whole(bytes.data(), bytes.size(), name);
  if (bytes.size() < kHeaderBytes + kChecksumBytes) whole.fail("is truncated");
  if (std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    whole.fail("does not start with CLW1, so it is no weight file of this version");
  }
  const std::size_t body = bytes.size() - kChecksumBytes;
  Reader tail(bytes.data() + body, kChecksumBytes, name);
  Reader reader(bytes.data(), body, name);
  reader.take(sizeof kMagic);
  // The checksum comes first: after it, only a file that was altered on purpose can be wrong.
  if (tail.u32() != crc_of(bytes.data(), body)) whole.fail("is damaged or truncated (checksum)");

  const std::uint32_t count = reader.u32();
  if (count > kMaxParameters) reader.fail("claims " + std::to_string(count) + " parameters");
  Weights weights;
  for (std::uint32_t p = 0; p < count; ++p) {
    Parameter parameter;
    const std::uint32_t name_bytes = reader.u32();
    if (name_bytes > kMaxNameBytes) reader.fail("claims a name of absurd length");
    const auto* text = reader.take(name_bytes);
    parameter.name.assign(text, text + name_bytes);
    const std::uint32_t encoding = reader.u32();
    if (encoding > static_cast<std::uint32_t>(Encoding::kInt8PerRow)) {
      reader.fail("uses an unknown encoding " + std::to_string(encoding));
    }
    parameter.encoding = static_cast<Encoding>(encoding);
    const std::uint32_t dims = reader.u32();
    if (dims < 1 || dims > kMaxDims) reader.fail("claims " + std::to_string(dims) + " dimensions");
    std::uint64_t size = 1;
    for (std::uint32_t d = 0; d < dims; ++d) {
      const std::uint32_t dim = reader.u32();
      if (dim < 1 || dim > kMaxValues || (size *= dim) > kMaxValues) {
        reader.fail("claims a parameter of absurd size");
      }
      parameter.dims.push_back(static_cast<int>(dim));
    }
    read_values(reader, parameter);
    weights.parameters.push_back(std::move(parameter));
  }
  if (reader.left() != 0) {
    reader.fail("has " + std::to_string(reader.left()) + " bytes too many");
  }
  return weights;
}

Weights read_weights(const std::filesystem::path& file) {
  return parse_weights(read_bytes(file, kMaxFileBytes), file.string());
}

void write_weights(const std::filesystem::path& file, const Weights& weights) {
  write_atomically(file, serialise(weights));
}

void check_weights(const Preset& preset, const Weights& weights) {
  const Weights wanted = empty_weights(preset);
  for (std::size_t i = 0; i < wanted.parameters.size(); ++i) {
    const Parameter& want = wanted.parameters[i];
    if (i >= weights.parameters.size()) {
      throw EnvironmentError("The weights of network " + preset.name + " lack the parameter '" +
                             want.name + "'; train the preset again.");
    }
    const Parameter& have = weights.parameters[i];
    if (have.name != want.name || have.dims != want.dims) {
      throw EnvironmentError("Network " + preset.name + " needs " + want.name + " of " +
                             to_string(want.dims) + ", its weight file has " + have.name + " of " +
                             to_string(have.dims) + "; train the preset again.");
    }
  }
  if (weights.parameters.size() != wanted.parameters.size()) {
    throw EnvironmentError("The weights of network " + preset.name + " hold " +
                           std::to_string(weights.parameters.size()) + " parameters instead of " +
                           std::to_string(wanted.parameters.size()) + "; train the preset again.");
  }
}

}  // namespace convlab
