#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "common/base/conv_shape.hpp"

namespace convlab {

enum class ActivationFunction { kRelu, kTanh };
enum class PoolFunction { kMax, kAverage };

/// Convolution without padding and without bias: the student's part.
struct ConvLayer {
  int out_channels = 1;
  int kernel = 1;
  int stride = 1;
};

struct ActivationLayer {
  ActivationFunction function = ActivationFunction::kRelu;
};

/// With `ceil`, a last window that extends over the border uses only the pixels inside.
struct PoolLayer {
  PoolFunction function = PoolFunction::kMax;
  int size = 2;
  int stride = 2;
  bool ceil = false;
};

/// Fully connected, with bias; the input is flattened in channel, row, column order.
struct DenseLayer {
  int units = 1;
};

using Layer = std::variant<ConvLayer, ActivationLayer, PoolLayer, DenseLayer>;

/// channels × height × width of one image between two layers.
struct FeatureShape {
  int channels = 1;
  int height = 1;
  int width = 1;

  [[nodiscard]] constexpr std::int64_t size() const {
    return std::int64_t{channels} * height * width;
  }
  friend constexpr bool operator==(const FeatureShape&, const FeatureShape&) = default;
};

/// A network without its weights: data, read from common/network/presets/NAME.json.
struct Preset {
  std::string name;
  std::string title;
  int image_size = 28;  ///< images are resized from 28×28 to image_size × image_size
  int classes = 10;
  std::vector<Layer> layers;

  /// Shape before layer 0, after layer 0, …, after the last: layers.size() + 1 entries.
  [[nodiscard]] std::vector<FeatureShape> feature_shapes() const;

  /// The convolutions, in order, at this batch.
  [[nodiscard]] std::vector<ConvShape> conv_shapes(int batch) const;
};

/// Shape after one layer. @throws EnvironmentError if the layer does not fit.
FeatureShape output_shape(const Layer& layer, const FeatureShape& input);

/// The convolution that a layer is at this place and batch.
ConvShape conv_shape(const ConvLayer& conv, const FeatureShape& input, int batch);

/// @param name  a file presets/NAME.json, or a path that ends in .json
/// @throws UsageError for an unknown name (lists the known ones),
///         EnvironmentError for a file that is not a valid preset (says what and where)
Preset load_preset(const std::string& name);

/// Names of all presets, sorted; the default is kDefaultPreset.
std::vector<std::string> preset_names();
inline constexpr const char* kDefaultPreset = "fa23";

/// Folder common/network, found from CONVLAB_HOME or the place of the build.
std::filesystem::path network_folder();

}  // namespace convlab
