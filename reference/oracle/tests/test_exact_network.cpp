#include <algorithm>
#include <cmath>

#include "common/base/tests/support/catch.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/tests/made_up_data.hpp"
#include "reference/oracle/expected.hpp"
#include "reference/oracle/tests/fixtures.hpp"

using namespace convlab;

namespace {

// Small, with every kind of layer: a strided convolution, both activations, both poolings with and
// without ceil, two dense layers.
Preset small_preset() {
  return {.name = "small",
          .title = "For tests",
          .image_size = 21,
          .classes = 10,
          .layers = {
              ConvLayer{.out_channels = 5, .kernel = 4, .stride = 1},
              ActivationLayer{.function = ActivationFunction::kRelu},
              PoolLayer{.function = PoolFunction::kMax, .size = 2, .stride = 2},
              ConvLayer{.out_channels = 6, .kernel = 3, .stride = 2},
              ActivationLayer{.function = ActivationFunction::kTanh},
              PoolLayer{.function = PoolFunction::kAverage, .size = 3, .stride = 3, .ceil = true},
              DenseLayer{.units = 12}, ActivationLayer{.function = ActivationFunction::kTanh},
              DenseLayer{.units = 10}}};
}

Network network_of(const Preset& preset) {
  Weights weights = empty_weights(preset);
  std::uint32_t seed = 1;
  for (Parameter& parameter : weights.parameters) {
    std::int64_t size = 1;
    for (const int dim : parameter.dims) size *= dim;
    parameter.values = oracle::random_floats(size, seed++);
  }
  return {preset, weights};
}

// The network in single precision stays within the bounds. Returns the largest of these, as a part
// of the largest logit.
double check_bounds(const Preset& preset, int batch) {
  CAPTURE(preset.name);
  const Network network = network_of(preset);
  const auto images =
      oracle::random_floats(std::int64_t{batch} * preset.image_size * preset.image_size, 99);
  const auto logits = network.forward(images, batch, oracle::naive_convolution);
  const auto exact = oracle::predict_exactly(network, images, batch);
  REQUIRE(exact.size() == static_cast<std::size_t>(batch));
  double worst_error = 0.0;
  double worst_bound = 0.0;
  double largest = 0.0;
  for (int i = 0; i < batch; ++i) {
    const auto& prediction = exact[static_cast<std::size_t>(i)];
    REQUIRE(prediction.logits.size() == 10);
    for (std::size_t c = 0; c < 10; ++c) {
      const double error =
          std::fabs(logits[static_cast<std::size_t>(i) * 10 + c] - prediction.logits[c]);
      CHECK(error <= prediction.bounds[c]);
      worst_error = std::max(worst_error, error);
      worst_bound = std::max(worst_bound, prediction.bounds[c]);
      largest = std::max(largest, std::fabs(prediction.logits[c]));
    }
    if (!prediction.decided) continue;
    CHECK(prediction.predicted ==
          argmax({logits.begin() + i * 10, logits.begin() + (i + 1) * 10}, 10)[0]);
  }
  CHECK(worst_bound > 0.0);
  CHECK(worst_error < 1e-5 * largest);
  return worst_bound / largest;
}

}  // namespace

TEST_CASE("exact network: every network in single precision stays within its bounds") {
  CHECK(check_bounds(small_preset(), 21) < 0.01);  // no multiple of the lanes
  for (const std::string& name : preset_names()) check_bounds(load_preset(name), 3);
}

TEST_CASE("exact network: equal logits are undecided") {
  Network network = network_of(small_preset());
  Weights weights = network.weights();
  for (Parameter& parameter : weights.parameters) {
    if (parameter.name.rfind("dense2", 0) != 0) continue;
    // Classes 0 and 1 get the same weights, and a bias that makes them the best.
    const std::size_t inputs = parameter.values.size() / 10;
    std::copy_n(parameter.values.begin(), inputs,
                parameter.values.begin() + static_cast<std::ptrdiff_t>(inputs));
    if (parameter.name == "dense2.bias") parameter.values[0] = parameter.values[1] = 100.0f;
  }
  const Network tied(small_preset(), weights);
  const auto images = oracle::random_floats(3 * 21 * 21, 5);
  for (const auto& prediction : oracle::predict_exactly(tied, images, 3)) {
    CHECK_FALSE(prediction.decided);
  }
}

TEST_CASE("expected: counts and the file's round trip") {
  const Dataset dataset = synthetic_dataset(230, 7);
  const Network network = network_of(small_preset());
  const auto expected = oracle::compute_expected(network, dataset, 230);
  CHECK(expected.predictions.size() == 230);
  int correct = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    if (expected.predictions[i] == dataset.labels[i]) ++correct;
  }
  CHECK(oracle::count(expected, dataset.labels, 100).correct == correct);

  const auto file = std::filesystem::temp_directory_path() / "convlab-test-expected.json";
  const auto text = oracle::to_json(expected, dataset.labels);
  write_atomically(file, text);
  CHECK(oracle::read_expected(file) == expected);
  write_atomically(file, "[]");
  CHECK_THROWS(oracle::read_expected(file));
  std::filesystem::remove(file);
}

TEST_CASE("expected: the files in the tree are about the weights and data in the tree") {
  const Dataset dataset = load_dataset(Split::kTest);
  int checked = 0;
  for (const std::string& name : preset_names()) {
    if (!std::filesystem::exists(network_folder() / "weights" / (name + ".clw")) ||
        !std::filesystem::exists(oracle::expected_folder() / (name + ".json"))) {
      continue;
    }
    CAPTURE(name);
    const Network network = load_network(name);
    const auto kept = oracle::read_expected(oracle::expected_folder() / (name + ".json"));
    CHECK(kept.network == name);
    CHECK(kept.weights_crc == oracle::crc_of(network.weights()));
    CHECK(kept.data_crc == oracle::crc_of(dataset));
    REQUIRE(kept.predictions.size() == 10'000);
    const int batch = name == kDefaultPreset ? 100 : 8;
    const auto fresh = oracle::compute_expected(network, dataset, batch);
    CHECK(std::equal(fresh.predictions.begin(), fresh.predictions.end(), kept.predictions.begin()));
    CHECK(fresh.undecided.size() ==
          static_cast<std::size_t>(oracle::count(kept, dataset.labels, batch).undecided));
    ++checked;
  }
  WARN("networks checked: " << checked);
}
