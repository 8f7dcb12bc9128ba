#include "reference/oracle/expected.hpp"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <list>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/dataset.hpp"
#include "reference/oracle/comparison.hpp"
#include "reference/oracle/image_oracle.hpp"
#include "reference/oracle/oracle.hpp"

namespace convlab::oracle {

namespace {

/// The numbers between two layers of one image, with bounds of their errors.
struct Features {
  std::vector<double> values;
  std::vector<double> errors;

  explicit Features(std::int64_t size = 0)
      : values(static_cast<std::size_t>(size)), errors(static_cast<std::size_t>(size)) {}
};

double rounding() {
  return error_bound(Precision::kFp32, 1) * kUnitRoundoff;
}

// |x| + e + e / (B·u): its sum with |w|, times B·u, is the whole e_out of expected.hpp.
double magnitude_of(double value, double error) {
  return std::fabs(value) + error + error / rounding();
}

void relu(Features& features) {
  for (std::size_t i = 0; i < features.values.size(); ++i) {
    double& value = features.values[i];
    double& error = features.errors[i];
    if (value <= 0.0) {
      error = std::max(0.0, value + error);
      value = 0.0;
    }
  }
}

void tanh(Features& features) {
  constexpr double kUlps = 8.0;  // of a float's tanh, with room
  for (std::size_t i = 0; i < features.values.size(); ++i) {
    double& value = features.values[i];
    value = std::tanh(value);
    features.errors[i] += kUlps * 2.0 * kUnitRoundoff * std::fabs(value);
  }
}

Features pool(const PoolLayer& layer, const FeatureShape& in, const FeatureShape& out,
              const Features& input) {
  Features output(out.size());
  std::size_t to = 0;
  for (int channel = 0; channel < out.channels; ++channel) {
    for (int row = 0; row < out.height; ++row) {
      for (int column = 0; column < out.width; ++column, ++to) {
        double largest = -HUGE_VAL;
        double highest_upper = -HUGE_VAL;
        double highest_lower = -HUGE_VAL;
        double sum = 0.0;
        double error_sum = 0.0;
        double magnitude = 0.0;
        int count = 0;
        const int last_row = std::min(in.height, row * layer.stride + layer.size);
        const int last_column = std::min(in.width, column * layer.stride + layer.size);
        for (int i = row * layer.stride; i < last_row; ++i) {
          for (int j = column * layer.stride; j < last_column; ++j, ++count) {
            const auto from =
                static_cast<std::size_t>((std::int64_t{channel} * in.height + i) * in.width + j);
            const double value = input.values[from];
            const double error = input.errors[from];
            largest = std::max(largest, value);
            highest_upper = std::max(highest_upper, value + error);
            highest_lower = std::max(highest_lower, value - error);
            sum += value;
            error_sum += error;
            magnitude += std::fabs(value);
          }
        }
        if (layer.function == PoolFunction::kMax) {
          output.values[to] = largest;
          output.errors[to] = std::max(highest_upper - largest, largest - highest_lower);
        } else {
          output.values[to] = sum / count;
          output.errors[to] = (error_sum + rounding() * magnitude) / count;
        }
      }
    }
  }
  return output;
}

std::vector<double> magnitudes_of(const Features& features) {
  std::vector<double> magnitudes(features.values.size());
  std::ranges::transform(features.values, features.errors, magnitudes.begin(), magnitude_of);
  return magnitudes;
}

Features convolved(ImageOracle& oracle, const Features& input, const FeatureShape& out) {
  oracle.load(input.values.data(), magnitudes_of(input).data());
  Features output(out.size());
  oracle.for_each_row([&](const OutputRow& at, const double* values, const double* sums) {
    for (int column = 0; column < out.width; ++column) {
      const auto to = static_cast<std::size_t>(at.begin + column);
      output.values[to] = values[column];
      output.errors[to] = sums[column] * rounding();
    }
  });
  return output;
}

Features multiplied(const std::vector<float>& weights, const std::vector<float>& bias,
                    const Features& input) {
  const std::size_t inputs = input.values.size();
  const std::vector<double> magnitudes = magnitudes_of(input);
  Features output(static_cast<std::int64_t>(bias.size()));
  for (std::size_t unit = 0; unit < bias.size(); ++unit) {
    const float* const row = weights.data() + unit * inputs;
    double sum = bias[unit];
    double magnitude = std::fabs(sum);
#pragma omp simd reduction(+ : sum, magnitude)
    for (std::size_t k = 0; k < inputs; ++k) {
      const double weight = row[k];
      sum += weight * input.values[k];
      magnitude += std::fabs(weight) * magnitudes[k];
    }
    output.values[unit] = sum;
    output.errors[unit] = magnitude * rounding();
  }
  return output;
}

/// One thread's way through the layers.
class Pass {
 public:
  explicit Pass(const Network& network)
      : network_(network), shapes_(network.preset().feature_shapes()) {
    const std::vector<ConvShape> convolutions = network.preset().conv_shapes(1);
    for (const Parameter& each : network.weights().parameters) {
      if (each.name.starts_with("dense")) continue;
      const ConvShape& shape = convolutions[oracles_.size()];
      oracles_.emplace_back(shape, weights_.emplace_back(shape, each.values.data()));
    }
  }

  Features run(Features image) {
    auto oracle = oracles_.begin();
    auto parameter = network_.weights().parameters.begin();
    const std::vector<Layer>& layers = network_.preset().layers;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const FeatureShape& out = shapes_[i + 1];
      if (std::holds_alternative<ConvLayer>(layers[i])) {
        image = convolved(*oracle++, image, out);
        ++parameter;
      } else if (const auto* pooling = std::get_if<PoolLayer>(&layers[i])) {
        image = pool(*pooling, shapes_[i], out, image);
      } else if (std::holds_alternative<DenseLayer>(layers[i])) {
        image = multiplied(parameter[0].values, parameter[1].values, image);
        parameter += 2;
      } else if (std::get<ActivationLayer>(layers[i]).function == ActivationFunction::kRelu) {
        relu(image);
      } else {
        tanh(image);
      }
    }
    return image;
  }

 private:
  const Network& network_;
  std::vector<FeatureShape> shapes_;
  std::list<PreparedWeights> weights_;  // of the convolutions, where the oracles find them
  std::vector<ImageOracle> oracles_;
};

ExactPrediction prediction_of(const Features& logits) {
  ExactPrediction result{.logits = logits.values, .bounds = logits.errors};
  const auto& values = logits.values;
  result.predicted =
      static_cast<int>(std::max_element(values.begin(), values.end()) - values.begin());
  const auto best = static_cast<std::size_t>(result.predicted);
  const double lowest_best = values[best] - logits.errors[best];
  for (std::size_t c = 0; c < values.size(); ++c) {
    if (c != best && !(values[c] + logits.errors[c] < lowest_best)) result.decided = false;
  }
  return result;
}

}  // namespace

std::vector<ExactPrediction> predict_exactly(const Network& network, std::span<const float> images,
                                             int batch) {
  const std::int64_t pixels = network.preset().feature_shapes().front().size();
  std::vector<ExactPrediction> predictions(static_cast<std::size_t>(batch));
  parallel_images(
      batch, omp_get_max_threads(), [&] { return Pass(network); },
      [&](Pass& pass, int i) {
        Features image(pixels);
        std::copy_n(images.begin() + i * pixels, pixels, image.values.begin());
        predictions[static_cast<std::size_t>(i)] = prediction_of(pass.run(std::move(image)));
      });
  return predictions;
}

namespace {

constexpr const char* kSchema = "convlab-expected-1";
constexpr int kDigitsPerLine = 100;  // predictions are a digit each

std::uint32_t crc(std::uint32_t seed, const void* data, std::size_t size) {
  return static_cast<std::uint32_t>(crc32_z(seed, static_cast<const Bytef*>(data), size));
}

template <class Element>
std::uint32_t crc(std::uint32_t seed, const std::vector<Element>& elements) {
  return crc(seed, elements.data(), elements.size() * sizeof(Element));
}

bool holds(const Expected& expected, int batch) {
  return static_cast<int>(expected.predictions.size()) >= batch;
}

}  // namespace

std::uint32_t crc_of(const Weights& weights) {
  std::uint32_t sum = 0;
  for (const Parameter& parameter : weights.parameters) {
    sum = crc(sum, parameter.name.data(), parameter.name.size());
    sum = crc(sum, parameter.dims);
    sum = crc(sum, parameter.values);
  }
  return sum;
}

std::uint32_t crc_of(const Dataset& dataset) {
  return crc(crc(0, dataset.images), dataset.labels);
}

ExpectedCount count(const Expected& expected, const std::vector<std::uint8_t>& labels, int batch) {
  ExpectedCount result;
  for (int i = 0; i < batch; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (expected.predictions.at(at) == labels.at(at)) ++result.correct;
  }
  result.undecided = static_cast<int>(
      std::lower_bound(expected.undecided.begin(), expected.undecided.end(), batch) -
      expected.undecided.begin());
  return result;
}

Expected compute_expected(const Network& network, const Dataset& dataset, int count) {
  const Buffer images = resize_images(dataset, count, network.preset().image_size);
  const std::vector<ExactPrediction> exact = predict_exactly(network, images, count);
  Expected expected{.network = network.preset().name,
                    .weights_crc = crc_of(network.weights()),
                    .data_crc = crc_of(dataset)};
  for (int i = 0; i < count; ++i) {
    const ExactPrediction& prediction = exact[static_cast<std::size_t>(i)];
    expected.predictions.push_back(prediction.predicted);
    if (!prediction.decided) expected.undecided.push_back(i);
  }
  return expected;
}

std::filesystem::path expected_folder() {
  // network_folder() is ROOT/common/network.
  return network_folder().parent_path().parent_path() / "reference" / "oracle" / "expected";
}

std::string to_json(const Expected& expected, const std::vector<std::uint8_t>& labels) {
  Json counts = Json::array();
  for (const int batch : {100, 500, 1000, 5000, 10'000}) {
    if (!holds(expected, batch)) continue;
    const ExpectedCount at_batch = count(expected, labels, batch);
    counts.push_back(
        {{"batch", batch}, {"correct", at_batch.correct}, {"undecided", at_batch.undecided}});
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < expected.predictions.size(); ++i) {
    if (i % kDigitsPerLine == 0) lines.emplace_back();
    lines.back() += static_cast<char>('0' + expected.predictions[i]);
  }
  const Json json = {{"schema", kSchema},
                     {"network", expected.network},
                     {"weights_crc32", hexadecimal(expected.weights_crc)},
                     {"data_crc32", hexadecimal(expected.data_crc)},
                     {"counts", counts},
                     {"undecided", expected.undecided},
                     {"predictions", lines}};
  return json_text(json, 1) + "\n";
}

Expected read_expected(const std::filesystem::path& file) {
  try {
    const Json json = parse_json(read_text(file));
    if (json.at("schema") != kSchema) throw EnvironmentError("its schema is another one");
    Expected expected{.network = json.at("network"),
                      .undecided = json.at("undecided").get<std::vector<int>>()};
    const auto parse = [&](const char* name) {
      return static_cast<std::uint32_t>(std::stoul(json.at(name).get<std::string>(), nullptr, 16));
    };
    expected.weights_crc = parse("weights_crc32");
    expected.data_crc = parse("data_crc32");
    for (const auto& line : json.at("predictions")) {
      for (const char digit : line.get<std::string>()) {
        if (digit < '0' || digit > '9') throw EnvironmentError("a prediction is no digit");
        expected.predictions.push_back(digit - '0');
      }
    }
    return expected;
  } catch (const std::exception& error) {
    throw EnvironmentError(file.string() + " holds no expected counts of the form " + kSchema +
                           " (" + error.what() +
                           "); write it anew with build/bin/train NETWORK --keep.");
  }
}

Expected expected_for(const Network& network, const Dataset& dataset, int batch) {
  const auto file = expected_folder() / (network.preset().name + ".json");
  if (std::filesystem::exists(file)) {
    Expected expected = read_expected(file);
    if (expected.weights_crc == crc_of(network.weights()) && expected.data_crc == crc_of(dataset) &&
        holds(expected, batch)) {
      return expected;
    }
  }
  return compute_expected(network, dataset, batch);
}

}  // namespace convlab::oracle
