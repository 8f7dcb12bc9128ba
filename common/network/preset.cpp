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

// Bounds that keep every product of sizes far from overflow and refuse nonsense early.
constexpr int kMaxImageSize = 512;
constexpr int kMaxUnits = 100'000;
constexpr int kMaxChannels = 4096;
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

int read_int(const Json& object, const char* key, int low, int high) {
  const Json& value = object.at(key);
  if (!value.is_number_integer() || value < low || value > high) {
    throw EnvironmentError("it needs a whole number from " + std::to_string(low) + " to " +
                           std::to_string(high) + " for '" + key + "', not " + json_text(value));
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
      return ConvLayer{.out_channels = read_int(object, "out_channels", 1, kMaxChannels),
                       .kernel = read_int(object, "kernel", 1, kMaxImageSize),
                       .stride = read_int(object, "stride", 1, kMaxImageSize)};
    case 1:
      check_keys(object, {"type", "function"});
      return ActivationLayer{
          static_cast<ActivationFunction>(read_choice(object, "function", {"relu", "tanh"}))};
    case 2:
      check_keys(object, {"type", "function", "size", "stride", "ceil"});
      if (!object.contains("stride")) object["stride"] = object.at("size");
      return PoolLayer{.function = static_cast<PoolFunction>(
                           read_choice(object, "function", {"max", "average"})),
                       .size = read_int(object, "size", 1, kMaxImageSize),
                       .stride = read_int(object, "stride", 1, kMaxImageSize),
                       .ceil = object.value("ceil", false)};
    default:
      check_keys(object, {"type", "units"});
      return DenseLayer{.units = read_int(object, "units", 1, kMaxUnits)};
  }
}

Preset read_preset(const Json& object) {
  check_keys(object, {"name", "title", "image_size", "classes", "layers"});
  Preset preset{.name = object.at("name"),
                .title = object.at("title"),
                .image_size = read_int(object, "image_size", 1, kMaxImageSize),
                .classes = read_int(object, "classes", 2, 1000),
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

int pooled(int size, const PoolLayer& pool) {
  const int span = size - pool.size + (pool.ceil ? pool.stride - 1 : 0);
  return span / pool.stride + 1;
}

struct OutputShape {
  FeatureShape input;

  [[noreturn]] void refuse(const std::string& what, int size) const {
    throw EnvironmentError("a " + what + " " + std::to_string(size) +
                           " does not fit into its input of " + std::to_string(input.height) + "×" +
                           std::to_string(input.width) + " pixels");
  }

  FeatureShape operator()(const ConvLayer& conv) const {
    if (conv.kernel > input.height || conv.kernel > input.width) {
      refuse("convolution of kernel", conv.kernel);
    }
    return {conv.out_channels, (input.height - conv.kernel) / conv.stride + 1,
            (input.width - conv.kernel) / conv.stride + 1};
  }
  FeatureShape operator()(const ActivationLayer&) const { return input; }
  FeatureShape operator()(const PoolLayer& pool) const {
    if (pool.size > input.height || pool.size > input.width) {
      refuse("pooling window of", pool.size);
    }
    if (pool.stride > pool.size) {
      throw EnvironmentError("a pooling stride of " + std::to_string(pool.stride) +
                             " would skip pixels of its window of " + std::to_string(pool.size));
    }
    return {input.channels, pooled(input.height, pool), pooled(input.width, pool)};
  }
  FeatureShape operator()(const DenseLayer& dense) const { return {dense.units, 1, 1}; }
};

}  // namespace

FeatureShape output_shape(const Layer& layer, const FeatureShape& input) {
  return std::visit(OutputShape{input}, layer);
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
  if (const char* home = std::getenv("CONVLAB_HOME")) {
    return std::filesystem::path(home) / "common" / "network";
  }
  return std::filesystem::path(CONVLAB_SOURCE_DIR) / "common" / "network";
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
