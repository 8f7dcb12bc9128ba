#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/network/preset.hpp"

namespace convlab {

/// How a tensor is stored on disk. In memory everything is float.
enum class Encoding : std::uint32_t {
  kFloat32 = 0,
  kInt8PerRow = 1,  ///< row r of dims[0] rows: scale[r] · q, q in −127…127
};

/// One named parameter, "conv1.weights", "dense1.weights", "dense1.bias", …
/// Convolution weights are out_channels × in_channels × kernel × kernel, dense weights
/// units × inputs, biases units.
struct Parameter {
  std::string name;
  Encoding encoding = Encoding::kFloat32;
  std::vector<int> dims;
  std::vector<float> values;  ///< for kInt8PerRow exactly the values that the file encodes
};

/// The parameters of a network, in the order of its layers.
struct Weights {
  std::vector<Parameter> parameters;
};

/// Names and dims that the preset asks for, values empty, dense weights encoded kInt8PerRow.
Weights empty_weights(const Preset& preset);

/// Reads a .clw file (format: docs/weights.md). @throws EnvironmentError in one sentence for a file
/// that is missing, truncated, damaged (checksum), too large, of another version or network.
Weights read_weights(const std::filesystem::path& file, const Preset& preset);

/// The same from bytes; `name` stands for the file in messages.
Weights parse_weights(const std::vector<std::uint8_t>& bytes, const Preset& preset,
                      const std::string& name);

/// kInt8PerRow values are quantised to the nearest step. An interrupted write loses nothing.
void write_weights(const std::filesystem::path& file, const Weights& weights);

}  // namespace convlab
