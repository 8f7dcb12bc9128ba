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

static_assert(std::endian::native == std::endian::little, "the file is");

constexpr char kMagic[4] = {'C', 'L', 'W', '1'};
constexpr std::size_t kChecksumBytes = 4;
constexpr std::uint32_t kMaxDims = 4;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

std::uint32_t crc_of(const std::uint8_t* bytes, std::size_t size) {
  return static_cast<std::uint32_t>(crc32_z(0, bytes, size));
}

/// Reads values from a byte range, never past its end.
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

  template <class T>
  T next() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }

  [[nodiscard]] std::size_t left() const { return left_; }

 private:
  const std::uint8_t* bytes_;
  std::size_t left_;
  const std::string& name_;
};

using Bytes = std::vector<std::uint8_t>;

template <class T>
void append(Bytes& bytes, const T* values, std::size_t count) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(values);
  bytes.insert(bytes.end(), begin, begin + count * sizeof(T));
}

void append(Bytes& bytes, std::size_t number) {
  const auto word = static_cast<std::uint32_t>(number);
  append(bytes, &word, 1);
}

std::size_t rows_of(const Parameter& parameter) {
  return static_cast<std::size_t>(parameter.dims.at(0));
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
  const bool is_float = parameter.encoding == Encoding::kFloat32;
  const std::size_t rows = is_float ? 0 : rows_of(parameter);
  if (reader.left() < rows * 4 + size * (is_float ? 4 : 1)) reader.fail("is truncated");
  std::vector<float> scales;
  for (std::size_t r = 0; r < rows; ++r) scales.push_back(reader.next<float>());
  parameter.values.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    parameter.values.push_back(is_float ? reader.next<float>()
                                        : scales[i / (size / rows)] *
                                              static_cast<float>(reader.next<std::int8_t>()));
    if (!std::isfinite(parameter.values.back())) reader.fail("holds a value that is not finite");
  }
}

void append_values(Bytes& bytes, const Parameter& parameter) {
  const std::vector<float>& values = parameter.values;
  if (parameter.encoding == Encoding::kFloat32) return append(bytes, values.data(), values.size());
  const std::size_t rows = rows_of(parameter);
  const std::size_t columns = values.size() / rows;
  std::vector<float> scales;
  for (std::size_t r = 0; r < rows; ++r) scales.push_back(row_scale(&values[r * columns], columns));
  append(bytes, scales.data(), rows);
  for (std::size_t i = 0; i < values.size(); ++i) {
    bytes.push_back(std::bit_cast<std::uint8_t>(quantised(values[i], scales[i / columns])));
  }
}

Bytes serialise(const Weights& weights) {
  Bytes bytes;
  append(bytes, kMagic, sizeof kMagic);
  append(bytes, weights.parameters.size());
  for (const Parameter& parameter : weights.parameters) {
    append(bytes, parameter.name.size());
    append(bytes, parameter.name.data(), parameter.name.size());
    append(bytes, static_cast<std::size_t>(parameter.encoding));
    append(bytes, parameter.dims.size());
    append(bytes, parameter.dims.data(), parameter.dims.size());
    append_values(bytes, parameter);
  }
  append(bytes, crc_of(bytes.data(), bytes.size()));
  return bytes;
}

// "conv1.weights of 4×1×7×7" for the parameter at this place.
std::string describe(const Weights& weights, std::size_t at) {
  if (at >= weights.parameters.size()) return "nothing";
  std::string dims;
  for (const int dim : weights.parameters[at].dims) {
    dims += (dims.empty() ? "" : "×") + std::to_string(dim);
  }
  return weights.parameters[at].name + " of " + dims;
}

}  // namespace

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
  const std::size_t body = bytes.size() - std::min(bytes.size(), kChecksumBytes);
  Reader reader(bytes.data(), body, name);
  if (std::memcmp(reader.take(sizeof kMagic), kMagic, sizeof kMagic) != 0) {
    reader.fail("does not start with CLW1, so it is no weight file of this version");
  }
  // The checksum comes first: after it, only a file that was altered on purpose can be wrong.
  if (Reader(bytes.data() + body, kChecksumBytes, name).next<std::uint32_t>() !=
      crc_of(bytes.data(), body)) {
    reader.fail("is damaged or truncated (checksum)");
  }

  Weights weights;
  for (auto left = reader.next<std::uint32_t>(); left > 0; --left) {
    Parameter parameter;
    const auto name_bytes = reader.next<std::uint32_t>();
    const auto* text = reader.take(name_bytes);
    parameter.name.assign(text, text + name_bytes);
    parameter.encoding = static_cast<Encoding>(reader.next<std::uint32_t>());
    const auto dims = reader.next<std::uint32_t>();
    if (parameter.encoding > Encoding::kInt8PerRow || dims < 1 || dims > kMaxDims) {
      reader.fail("has a parameter of an unknown form");
    }
    std::uint64_t size = 1;
    for (std::uint32_t d = 0; d < dims; ++d) {
      const auto dim = reader.next<std::uint32_t>();
      size *= dim;
      if (dim < 1 || size > reader.left()) reader.fail("claims a parameter of absurd size");
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
  for (std::size_t i = 0; i < std::max(wanted.parameters.size(), weights.parameters.size()); ++i) {
    const std::string want = describe(wanted, i);
    const std::string have = describe(weights, i);
    if (have == want) continue;
    throw EnvironmentError("Network " + preset.name + " needs " + want + ", its weight file has " +
                           have + "; train the preset again.");
  }
}

}  // namespace convlab
