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

/// Thrown while reading; load_preset adds the file's name.
struct PresetProblem {
  std::string what;
};

// Refuses unknown keys: a misspelt "strde" must not silently mean stride 1.
void check_keys(const Json& object, const std::set<std::string>& known) {
  for (const auto& item : object.items()) {
    if (!known.contains(item.key())) throw PresetProblem{"has an unknown key '" + item.key() + "'"};
  }
}

int read_int(const Json& object, const char* key, int low, int high, int fallback = 0) {
  if (!object.contains(key)) {
    if (fallback != 0) return fallback;
    throw PresetProblem{std::string("lacks '") + key + "'"};
  }
  const Json& value = object.at(key);
  if (!value.is_number_integer() || value < low || value > high) {
    throw PresetProblem{std::string("needs a whole number from ") + std::to_string(low) + " to " +
                        std::to_string(high) + " for '" + key + "', not " + json_text(value)};
  }
  return value.get<int>();
}

std::string read_string(const Json& object, const char* key) {
  if (!object.contains(key) || !object.at(key).is_string()) {
    throw PresetProblem{std::string("needs a text for '") + key + "'"};
  }
  return object.at(key).get<std::string>();
}

Layer read_layer(const Json& object) {
  if (!object.is_object()) throw PresetProblem{"has a layer that is not an object"};
  const std::string type = read_string(object, "type");
  if (type == "conv") {
    check_keys(object, {"type", "out_channels", "kernel", "stride"});
    return ConvLayer{.out_channels = read_int(object, "out_channels", 1, kMaxChannels),
                     .kernel = read_int(object, "kernel", 1, kMaxImageSize),
                     .stride = read_int(object, "stride", 1, kMaxImageSize, 1)};
  }
  if (type == "activation") {
    check_keys(object, {"type", "function"});
    const std::string function = read_string(object, "function");
    if (function == "relu") return ActivationLayer{ActivationFunction::kRelu};
    if (function == "tanh") return ActivationLayer{ActivationFunction::kTanh};
    throw PresetProblem{"has an activation '" + function + "'; known are relu and tanh"};
  }
  if (type == "pool") {
    check_keys(object, {"type", "function", "size", "stride", "ceil"});
    PoolLayer pool;
    const std::string function = read_string(object, "function");
    if (function != "max" && function != "average") {
      throw PresetProblem{"has a pooling '" + function + "'; known are max and average"};
    }
    pool.function = function == "max" ? PoolFunction::kMax : PoolFunction::kAverage;
    pool.size = read_int(object, "size", 1, kMaxImageSize);
    pool.stride = read_int(object, "stride", 1, kMaxImageSize, pool.size);
    if (object.contains("ceil")) {
      if (!object.at("ceil").is_boolean()) throw PresetProblem{"needs true or false for 'ceil'"};
      pool.ceil = object.at("ceil").get<bool>();
    }
    return pool;
  }
  if (type == "dense") {
    check_keys(object, {"type", "units"});
    return DenseLayer{.units = read_int(object, "units", 1, kMaxUnits)};
  }
  throw PresetProblem{"has a layer of type '" + type +
                      "'; known are conv, activation, pool and dense"};
}

Preset read_preset(const Json& object) {
  if (!object.is_object()) throw PresetProblem{"is not a JSON object"};
  check_keys(object, {"name", "title", "image_size", "classes", "layers"});
  Preset preset;
  preset.name = read_string(object, "name");
  preset.title = read_string(object, "title");
  preset.image_size = read_int(object, "image_size", 1, kMaxImageSize);
  preset.classes = read_int(object, "classes", 2, 1000);
  if (!object.contains("layers") || !object.at("layers").is_array() ||
      object.at("layers").empty() || object.at("layers").size() > kMaxLayers) {
    throw PresetProblem{"needs 1 to " + std::to_string(kMaxLayers) + " 'layers'"};
  }
  for (const Json& layer : object.at("layers")) preset.layers.push_back(read_layer(layer));
  if (preset.feature_shapes().back().size() != preset.classes) {
    throw PresetProblem{"ends with " + std::to_string(preset.feature_shapes().back().size()) +
                        " values instead of one for each of " + std::to_string(preset.classes) +
                        " classes"};
  }
  return preset;
}

int pooled(int size, const PoolLayer& pool) {
  const int span = size - pool.size + (pool.ceil ? pool.stride - 1 : 0);
  return span / pool.stride + 1;
}

struct OutputShape {
  FeatureShape input;

  FeatureShape operator()(const ConvLayer& conv) const {
    if (conv.kernel > input.height || conv.kernel > input.width) {
      throw EnvironmentError("A convolution of kernel " + std::to_string(conv.kernel) +
                             " does not fit into its input of " + std::to_string(input.height) +
                             "×" + std::to_string(input.width) + " pixels.");
    }
    return {conv.out_channels, (input.height - conv.kernel) / conv.stride + 1,
            (input.width - conv.kernel) / conv.stride + 1};
  }
  FeatureShape operator()(const ActivationLayer&) const { return input; }
  FeatureShape operator()(const PoolLayer& pool) const {
    if (pool.size > input.height || pool.size > input.width) {
      throw EnvironmentError("A pooling window of " + std::to_string(pool.size) +
                             " does not fit into its input of " + std::to_string(input.height) +
                             "×" + std::to_string(input.width) + " pixels.");
    }
    if (pool.stride > pool.size) {
      throw EnvironmentError("A pooling stride of " + std::to_string(pool.stride) +
                             " would skip pixels of its window of " + std::to_string(pool.size) +
                             ".");
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
  } catch (const Json::exception& error) {
    throw EnvironmentError("The network preset " + file.string() +
                           " is not valid JSON: " + error.what());
  } catch (const PresetProblem& problem) {
    throw EnvironmentError("The network preset " + file.string() + " " + problem.what + ".");
  } catch (const EnvironmentError& error) {
    throw EnvironmentError("The network preset " + file.string() +
                           " does not fit together: " + error.what());
  }
}

}  // namespace convlab
