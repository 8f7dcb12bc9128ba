#include <omp.h>

#include <cmath>

#include "common/base/error.hpp"
#include "common/base/tests/support/catch.hpp"
#include "common/base/tests/support/message_of.hpp"
#include "common/base/tests/support/temporary_folder.hpp"
#include "common/data/resize.hpp"
#include "common/data/tests/made_up_data.hpp"
#include "common/network/network.hpp"
#include "reference/training/model.hpp"
#include "reference/training/trainer.hpp"

using namespace convlab;
using namespace convlab::training;
using Catch::Matchers::ContainsSubstring;
using convlab::testing::message_of;
using convlab::testing::TemporaryFolder;

namespace {

// All layer types, small enough to train in a moment.
Preset small_preset() {
  Preset preset;
  preset.name = "small";
  preset.image_size = 20;
  preset.layers = {ConvLayer{.out_channels = 4, .kernel = 5},
                   ActivationLayer{ActivationFunction::kRelu},
                   PoolLayer{PoolFunction::kMax, 2, 2, false},
                   ConvLayer{.out_channels = 6, .kernel = 3},
                   ActivationLayer{ActivationFunction::kTanh},
                   PoolLayer{PoolFunction::kAverage, 4, 4, true},
                   DenseLayer{.units = 16},
                   ActivationLayer{ActivationFunction::kRelu},
                   DenseLayer{.units = 10}};
  return preset;
}

const auto kReportNothing = [](const Epoch&) {};

std::vector<std::vector<float>> values_of(const Weights& weights) {
  std::vector<std::vector<float>> values;
  for (const Parameter& parameter : weights.parameters) values.push_back(parameter.values);
  return values;
}

}  // namespace

TEST_CASE("model: the gradient of the whole network's loss") {
  const Preset preset = small_preset();
  const Dataset data = synthetic_dataset(6, 1);
  const std::vector<float> images = resize_images(data, 6, preset.image_size);
  Model model(preset, 5);
  Model probe(preset, 5);
  model.step(images.data(), data.labels.data(), 6);
  const auto loss = [&] { return probe.step(images.data(), data.labels.data(), 6).sum / 6; };
  const auto tensors = model.tensors();
  const auto probed = probe.tensors();
  REQUIRE(tensors.size() == 6);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::size_t stride = std::max<std::size_t>(1, tensors[t]->values.size() / 25);
    for (std::size_t i = 0; i < tensors[t]->values.size(); i += stride) {
      const float value = tensors[t]->values[i];
      probed[t]->values[i] = value + 2e-3F;
      const double above = loss();
      probed[t]->values[i] = value - 2e-3F;
      const double below = loss();
      probed[t]->values[i] = value;
      CAPTURE(t, i);
      CHECK(tensors[t]->gradient[i] == Approx((above - below) / 4e-3).margin(2e-3));
    }
  }
}

TEST_CASE("training: the synthetic classes are learnt, and what is stored still knows them") {
  const Preset preset = small_preset();
  const Dataset train_set = synthetic_dataset(1500, 1);
  const Dataset test_set = synthetic_dataset(500, 2);
  const Settings settings{.epochs = 5, .batch = 25, .rate = 4e-3};
  std::vector<double> losses;
  const Weights weights = train(preset, train_set, settings, {},
                                [&](const Epoch& epoch) { losses.push_back(epoch.loss); });
  REQUIRE(losses.size() == 5);
  CHECK(losses.back() < losses.front() / 3);
  const TemporaryFolder folder;
  write_weights(folder.path() / "small.clw", weights);
  CHECK(count_correct(Network(preset, read_weights(folder.path() / "small.clw")), test_set) > 450);
}

TEST_CASE("training: one thread and many give the same weights, another seed others") {
  const Preset preset = small_preset();
  const Dataset data = synthetic_dataset(150, 1);
  Settings settings{.epochs = 1, .batch = 30, .seed = 7};
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto one = values_of(train(preset, data, settings, {}, kReportNothing));
  omp_set_num_threads(5);
  const auto five = values_of(train(preset, data, settings, {}, kReportNothing));
  omp_set_num_threads(threads);
  CHECK(one == five);
  settings.seed = 8;
  CHECK(values_of(train(preset, data, settings, {}, kReportNothing)) != one);
}

TEST_CASE("training: resumed equals uninterrupted, bit for bit") {
  const TemporaryFolder folder;
  const Preset preset = small_preset();
  const Dataset data = synthetic_dataset(200, 1);
  const Settings settings{.epochs = 3, .batch = 30, .seed = 3};
  const auto whole = train(preset, data, settings, {}, kReportNothing);
  const auto checkpoint = folder.path() / "ü.checkpoint";
  // Ends in the second epoch.
  CHECK_THROWS(train(preset, data, settings, {checkpoint, false}, [](const Epoch& epoch) {
    if (epoch.number == 2) throw std::runtime_error("interrupted");
  }));
  const Weights resumed = train(preset, data, settings, {checkpoint, true}, kReportNothing);
  CHECK(values_of(resumed) == values_of(whole));
}

TEST_CASE("training: a checkpoint that does not fit is refused") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "checkpoint";
  const Preset preset = small_preset();
  const Dataset data = synthetic_dataset(50, 1);
  Settings settings{.epochs = 1};
  const auto resume = [&] { train(preset, data, settings, {file, true}, kReportNothing); };
  CHECK_THAT(message_of(resume), ContainsSubstring("There is no checkpoint " + file.string()));
  train(preset, data, settings, {file, false}, kReportNothing);
  CHECK(message_of(resume).empty());
  settings.seed = 2;
  CHECK_THAT(message_of(resume),
             ContainsSubstring("\"seed\":1") && ContainsSubstring("\"seed\":2"));
  write_weights(file, Model(preset, 1).weights());  // a weight file is no checkpoint
  CHECK_THROWS_AS(resume(), EnvironmentError);
}

TEST_CASE("training: a loss that is no longer finite is one sentence") {
  const Settings settings{.epochs = 3, .batch = 5, .rate = 1e30};
  CHECK_THAT(message_of([&] {
               train(small_preset(), synthetic_dataset(20, 1), settings, {}, kReportNothing);
             }),
             ContainsSubstring("The loss is no longer finite"));
}

TEST_CASE("training: an epoch shows every image once, in an order of its own") {
  const std::vector<int> first = epoch_order(1000, 5, 0);
  const std::vector<int> second = epoch_order(1000, 5, 1);
  CHECK(first == epoch_order(1000, 5, 0));
  CHECK(first != second);
  CHECK(first != epoch_order(1000, 6, 0));
  std::vector<int> sorted = first;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < 1000; ++i) REQUIRE(sorted[static_cast<std::size_t>(i)] == i);
}
