#include "reference/oracle/expected.hpp"

#include <zlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/resize.hpp"
#include "reference/oracle/exact_network.hpp"

namespace convlab::oracle {

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
  const std::vector<float> images = resize_images(dataset, count, network.preset().image_size);
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
                           " (" + error.what() + "); write it anew with build/bin/expect.");
  }
}

Expected expected_for(const Network& network, const Dataset& dataset, int batch,
                      bool* was_computed) {
  const auto file = expected_folder() / (network.preset().name + ".json");
  if (was_computed != nullptr) *was_computed = false;
  if (std::filesystem::exists(file)) {
    Expected expected = read_expected(file);
    if (expected.weights_crc == crc_of(network.weights()) && expected.data_crc == crc_of(dataset) &&
        holds(expected, batch)) {
      return expected;
    }
  }
  if (was_computed != nullptr) *was_computed = true;
  return compute_expected(network, dataset, batch);
}

}  // namespace convlab::oracle
