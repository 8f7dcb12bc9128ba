#include "common/network/weights.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "common/base/error.hpp"
#include "common/base/whole_file.hpp"

namespace convlab {

namespace {

static_assert(std::endian::native == std::endian::little, "the file is");

constexpr char kMagic[4] = {'C', 'L', 'W', '1'};
constexpr std::size_t kChecksumBytes = 4;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

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

std::size_t crc_of(const std::uint8_t* bytes, std::size_t size) {
  return crc32_z(0, bytes, size);
}

/// What stands before the values of a parameter.
Bytes head_of(const Parameter& parameter) {
  Bytes bytes;
  append(bytes, parameter.name.size());
  append(bytes, parameter.name.data(), parameter.name.size());
  append(bytes, static_cast<std::size_t>(parameter.encoding));
  append(bytes, parameter.dims.size());
  append(bytes, parameter.dims.data(), parameter.dims.size());
  return bytes;
}

Bytes head_of(const Weights& weights) {
  Bytes bytes(std::begin(kMagic), std::end(kMagic));
  append(bytes, weights.parameters.size());
  return bytes;
}

// kInt8PerRow: the scale of a row maps its largest magnitude to 127.
void append_rows(Bytes& bytes, const Parameter& parameter) {
  const auto rows = static_cast<std::size_t>(parameter.dims[0]);
  const std::size_t columns = parameter.values.size() / rows;
  Bytes codes;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::span row = std::span(parameter.values).subspan(r * columns, columns);
    float largest = 0;
    for (const float value : row) largest = std::max(largest, std::fabs(value));
    const float scale = largest / 127.0f;
    append(bytes, &scale, 1);
    for (const float value : row) {
      const float code = scale == 0.0f ? 0.0f : std::clamp(value / scale, -127.0f, 127.0f);
      codes.push_back(std::bit_cast<std::uint8_t>(static_cast<std::int8_t>(std::lrintf(code))));
    }
  }
  bytes.insert(bytes.end(), codes.begin(), codes.end());
}

}  // namespace

Weights empty_weights(const Preset& preset) {
  Weights weights;
  const auto add = [&](const std::string& name, Encoding encoding, std::vector<int> dims) {
    weights.parameters.push_back({name, encoding, std::move(dims), {}});
  };
  const std::vector<FeatureShape> shapes = preset.feature_shapes();
  int convs = 0;
  int denses = 0;
  for (std::size_t i = 0; i < preset.layers.size(); ++i) {
    if (const auto* conv = std::get_if<ConvLayer>(&preset.layers[i])) {
      add("conv" + std::to_string(++convs) + ".weights", Encoding::kFloat32,
          {conv->out_channels, shapes[i].channels, conv->kernel, conv->kernel});
    } else if (const auto* dense = std::get_if<DenseLayer>(&preset.layers[i])) {
      const std::string name = "dense" + std::to_string(++denses);
      add(name + ".weights", Encoding::kInt8PerRow,
          {dense->units, static_cast<int>(shapes[i].size())});
      add(name + ".bias", Encoding::kFloat32, {dense->units});
    }
  }
  return weights;
}

Weights parse_weights(const std::vector<std::uint8_t>& bytes, const Preset& preset,
                      const std::string& name) {
  const auto refuse = [&](const std::string& what) {
    throw EnvironmentError("The weight file " + name + " " + what +
                           "; restore it (git checkout common/network/weights) or train it again.");
  };
  if (bytes.size() < sizeof kMagic || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    refuse("does not start with CLW1, so it is no weight file of this version");
  }
  // The checksum comes first: after it, only a file that was altered on purpose can be wrong.
  std::span body(bytes.data(), bytes.size() - kChecksumBytes);
  Bytes checksum;
  append(checksum, crc_of(body.data(), body.size()));
  if (!std::equal(checksum.begin(), checksum.end(), body.end())) {
    refuse("is damaged or truncated (checksum)");
  }
  const auto take = [&](std::size_t size) {
    if (size > body.size()) refuse("is truncated");
    const std::span taken = body.first(size);
    body = body.subspan(size);
    return taken;
  };
  const auto expect = [&](const Bytes& head) {
    if (!std::ranges::equal(take(head.size()), head)) {
      refuse("does not have the layers of network " + preset.name);
    }
  };
  const auto floats = [&](std::size_t count) {
    const std::span from = take(count * sizeof(float));
    std::vector<float> values(count);
    std::memcpy(values.data(), from.data(), from.size());
    return values;
  };
  Weights weights = empty_weights(preset);
  expect(head_of(weights));
  for (Parameter& parameter : weights.parameters) {
    expect(head_of(parameter));
    std::size_t size = 1;
    for (const int dim : parameter.dims) size *= static_cast<std::size_t>(dim);
    if (parameter.encoding == Encoding::kFloat32) {
      parameter.values = floats(size);
    } else {
      const auto rows = static_cast<std::size_t>(parameter.dims[0]);
      const std::vector<float> scales = floats(rows);
      for (const std::uint8_t code : take(size)) {
        parameter.values.push_back(scales[parameter.values.size() / (size / rows)] *
                                   static_cast<float>(std::bit_cast<std::int8_t>(code)));
      }
    }
    if (!std::ranges::all_of(parameter.values, [](float value) { return std::isfinite(value); })) {
      refuse("holds a value that is not finite");
    }
  }
  if (!body.empty()) refuse("has " + std::to_string(body.size()) + " bytes too many");
  return weights;
}

Weights read_weights(const std::filesystem::path& file, const Preset& preset) {
  return parse_weights(read_bytes(file, kMaxFileBytes), preset, file.string());
}

void write_weights(const std::filesystem::path& file, const Weights& weights) {
  Bytes bytes = head_of(weights);
  for (const Parameter& parameter : weights.parameters) {
    const Bytes head = head_of(parameter);
    bytes.insert(bytes.end(), head.begin(), head.end());
    if (parameter.encoding == Encoding::kFloat32) {
      append(bytes, parameter.values.data(), parameter.values.size());
    } else {
      append_rows(bytes, parameter);
    }
  }
  append(bytes, crc_of(bytes.data(), bytes.size()));
  write_atomically(file, bytes);
}

}  // namespace convlab
