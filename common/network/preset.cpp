#include "common/network/preset.hpp"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"

namespace convlab {

namespace {

constexpr std::size_t kMaxLayers = 64;

// What these refuse, load_preset says with the file's name in front.

// A misspelt "strde" must not silently mean stride 1.
void check_keys(const Json& object, const std::set<std::string>& known) {
  for (const auto& item : object.items()) {
    if (!known.contains(item.key())) {
      throw EnvironmentError("it has an unknown key '" + item.key() + "'");
    }
  }
}

int read_int(const Json& object, const char* key) {
  constexpr int kMost = 4096;  // keeps every product of sizes far from overflow
  const Json& value = object.at(key);
  if (!value.is_number_integer() || value < 1 || value > kMost) {
    throw EnvironmentError("it needs a whole number from 1 to " + std::to_string(kMost) + " for '" +
                           key + "', not " + json_text(value));
  }
  return value.get<int>();
}

// The place of a text among the known ones.
std::size_t read_choice(const Json& object, const char* key,
                        const std::vector<std::string>& known) {
  const auto text = object.at(key).get<std::string>();
  const auto found = std::ranges::find(known, text);
  if (found == known.end()) throw EnvironmentError(unknown_name(key, text, known));
  return static_cast<std::size_t>(found - known.begin());
}

Layer read_layer(Json object) {
  switch (read_choice(object, "type", {"conv", "activation", "pool", "dense"})) {
    case 0:
      check_keys(object, {"type", "out_channels", "kernel", "stride"});
      if (!object.contains("stride")) object["stride"] = 1;
      return ConvLayer{.out_channels = read_int(object, "out_channels"),
                       .kernel = read_int(object, "kernel"),
                       .stride = read_int(object, "stride")};
    case 1:
      check_keys(object, {"type", "function"});
      return ActivationLayer{
          static_cast<ActivationFunction>(read_choice(object, "function", {"relu", "tanh"}))};
    case 2:
      check_keys(object, {"type", "function", "size", "stride", "ceil"});
      if (!object.contains("stride")) object["stride"] = object.at("size");
      return PoolLayer{.function = static_cast<PoolFunction>(
                           read_choice(object, "function", {"max", "average"})),
                       .size = read_int(object, "size"),
                       .stride = read_int(object, "stride"),
                       .ceil = object.value("ceil", false)};
    default:
      check_keys(object, {"type", "units"});
      return DenseLayer{.units = read_int(object, "units")};
  }
}

Preset read_preset(const Json& object) {
  check_keys(object, {"name", "title", "image_size", "classes", "layers"});
  Preset preset{.name = object.at("name"),
                .title = object.at("title"),
                .image_size = read_int(object, "image_size"),
                .classes = read_int(object, "classes"),
                .layers = {}};
  const Json& layers = object.at("layers");
  if (!layers.is_array() || layers.empty() || layers.size() > kMaxLayers) {
    throw EnvironmentError("it needs 1 to " + std::to_string(kMaxLayers) + " 'layers'");
  }
  for (const Json& layer : layers) preset.layers.push_back(read_layer(layer));
  if (const auto values = preset.feature_shapes().back().size(); values != preset.classes) {
    throw EnvironmentError("it ends with " + std::to_string(values) +
                           " values instead of one for each of " + std::to_string(preset.classes) +
                           " classes");
  }
  return preset;
}

}  // namespace

FeatureShape output_shape(const Layer& layer, const FeatureShape& in) {
  if (const auto* dense = std::get_if<DenseLayer>(&layer)) return {dense->units, 1, 1};
  if (std::holds_alternative<ActivationLayer>(layer)) return in;
  const auto* const conv = std::get_if<ConvLayer>(&layer);
  const PoolLayer window = conv != nullptr ? PoolLayer{.size = conv->kernel, .stride = conv->stride}
                                           : std::get<PoolLayer>(layer);
  if (window.size > in.height || window.size > in.width) {
    throw EnvironmentError(
        std::string(conv != nullptr ? "a convolution of kernel " : "a pooling window of ") +
        std::to_string(window.size) + " does not fit into its input of " +
        std::to_string(in.height) + "×" + std::to_string(in.width) + " pixels");
  }
  if (conv == nullptr && window.stride > window.size) {
    throw EnvironmentError("a pooling stride of " + std::to_string(window.stride) +
                           " would skip pixels of its window of " + std::to_string(window.size));
  }
  const auto windows = [&](int length) {
    return (length - window.size + (window.ceil ? window.stride - 1 : 0)) / window.stride + 1;
  };
  return {conv != nullptr ? conv->out_channels : in.channels, windows(in.height),
          windows(in.width)};
}

ConvShape conv_shape(const ConvLayer& conv, const FeatureShape& input, int batch) {
  return {.batch = batch,
          .out_channels = conv.out_channels,
          .in_channels = input.channels,
          .height = input.height,
          .width = input.width,
          .kernel = conv.kernel,
          .stride = conv.stride};
}

std::vector<FeatureShape> Preset::feature_shapes() const {
  std::vector<FeatureShape> shapes = {{1, image_size, image_size}};
  for (const Layer& layer : layers) shapes.push_back(output_shape(layer, shapes.back()));
  return shapes;
}

std::vector<ConvShape> Preset::conv_shapes(int batch) const {
  std::vector<ConvShape> convs;
  const std::vector<FeatureShape> shapes = feature_shapes();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (const auto* conv = std::get_if<ConvLayer>(&layers[i])) {
      convs.push_back(conv_shape(*conv, shapes[i], batch));
    }
  }
  return convs;
}

std::filesystem::path network_folder() {
  const char* const home = std::getenv("CONVLAB_HOME");
  return std::filesystem::path(home != nullptr ? home : CONVLAB_SOURCE_DIR) / "common" / "network";
}

std::vector<std::string> preset_names() {
  const std::filesystem::path folder = network_folder() / "presets";
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  if (names.empty()) {
    throw EnvironmentError("There are no network presets in " + folder.string() +
                           "; set CONVLAB_HOME to the folder of the workbook.");
  }
  std::ranges::sort(names);
  return names;
}

Preset load_preset(const std::string& name) {
  std::filesystem::path file = name;
  if (file.extension() != ".json") {
    const std::vector<std::string> names = preset_names();
    if (std::ranges::find(names, name) == names.end()) {
      throw UsageError(unknown_name("network preset", name, names));
    }
    file = network_folder() / "presets" / (name + ".json");
  }
  const std::string text = read_text(file);
  try {
    return read_preset(parse_json(text));
  } catch (const std::exception& error) {
    throw EnvironmentError("The network preset " + file.string() +
                           " cannot be used: " + error.what() + ".");
  }
}

}  // namespace convlab
