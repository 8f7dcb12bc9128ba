#include <omp.h>

#include <cmath>

#include "common/base/error.hpp"
#include "common/base/testing/catch.hpp"
#include "common/base/testing/message_of.hpp"
#include "common/base/testing/temporary_folder.hpp"
#include "common/data/dataset.hpp"
#include "common/data/resize.hpp"
#include "common/network/network.hpp"
#include "reference/training/batches.hpp"
#include "reference/training/checkpoint.hpp"
#include "reference/training/evaluate.hpp"
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

const Observer kWatchNothing = [](const Progress&) { return true; };

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
  for (Method method : {Method::kAdam, Method::kMomentum}) {
    Settings settings{.epochs = 5, .batch = 25, .rate = 4e-3, .method = method};
    if (method == Method::kMomentum) settings.rate = 4e-2;
    std::vector<double> losses;
    const auto weights = train(preset, train_set, settings, {}, [&](const Progress& progress) {
      if (progress.epoch_done()) losses.push_back(progress.loss);
      return true;
    });
    REQUIRE(weights);
    REQUIRE(losses.size() == 5);
    CHECK(losses.back() < losses.front() / 3);
    CHECK(count_correct(Network(preset, as_stored(*weights)), test_set) > 450);
  }
}

TEST_CASE("training: one thread and many give the same weights, another seed others") {
  const Preset preset = small_preset();
  const Dataset data = synthetic_dataset(150, 1);
  Settings settings{.epochs = 1, .batch = 30, .seed = 7, .augment = true};
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto one = values_of(*train(preset, data, settings, {}, kWatchNothing));
  omp_set_num_threads(5);
  const auto five = values_of(*train(preset, data, settings, {}, kWatchNothing));
  omp_set_num_threads(threads);
  CHECK(one == five);
  settings.seed = 8;
  CHECK(values_of(*train(preset, data, settings, {}, kWatchNothing)) != one);
}

TEST_CASE("training: resumed equals uninterrupted, bit for bit") {
  const TemporaryFolder folder;
  const Preset preset = small_preset();
  const Dataset data = synthetic_dataset(200, 1);
  for (Method method : {Method::kAdam, Method::kMomentum}) {
    const Settings settings{.epochs = 3, .batch = 30, .method = method, .seed = 3, .augment = true};
    const auto whole = train(preset, data, settings, {}, kWatchNothing);
    const auto checkpoint = folder.path() / (std::string(to_string(method)) + ".checkpoint");
    // Stopped in the middle of the second epoch, and again in the middle of the third.
    CHECK_FALSE(train(preset, data, settings, {checkpoint, false}, [](const Progress& progress) {
      return progress.epoch < 2 || progress.images < 60;
    }));
    CHECK_FALSE(train(preset, data, settings, {checkpoint, true},
                      [](const Progress& progress) { return progress.epoch < 3; }));
    const auto resumed = train(preset, data, settings, {checkpoint, true}, kWatchNothing);
    REQUIRE(resumed);
    CHECK(values_of(*resumed) == values_of(*whole));
  }
}

TEST_CASE("training: a checkpoint that does not fit is refused") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "checkpoint";
  const Preset preset = small_preset();
  const Dataset data = synthetic_dataset(50, 1);
  Settings settings{.epochs = 1};
  const auto resume = [&] { train(preset, data, settings, {file, true}, kWatchNothing); };
  CHECK_THAT(message_of(resume), ContainsSubstring("There is no checkpoint " + file.string()));
  train(preset, data, settings, {file, false}, kWatchNothing);
  CHECK(message_of(resume).empty());
  settings.seed = 2;
  CHECK_THAT(message_of(resume),
             ContainsSubstring("\"seed\":1") && ContainsSubstring("\"seed\":2"));
  write_weights(file, as_stored(Model(preset, 1).weights()));  // a weight file is no checkpoint
  CHECK_THROWS_AS(resume(), EnvironmentError);
}

TEST_CASE("checkpoint: what is written is read") {
  const TemporaryFolder folder;
  const Preset preset = small_preset();
  Model model(preset, 9);
  Optimizer optimizer(Method::kAdam, model.tensors());
  const Dataset data = synthetic_dataset(8, 1);
  model.step(resize_images(data, 8, 20).data(), data.labels.data(), 8);
  optimizer.step(1e-3, 0);
  Optimizer::State state = optimizer.state();
  state.steps = 123'456'789;
  write_checkpoint(folder.path() / "c", {"settings {\"ü\"}", 7, model.weights(), state});
  const Checkpoint read = read_checkpoint(folder.path() / "c", preset);
  CHECK(read.settings == "settings {\"ü\"}");
  CHECK(read.epochs_done == 7);
  CHECK(values_of(read.weights) == values_of(model.weights()));
  CHECK(read.optimizer.moments == state.moments);
  CHECK(read.optimizer.steps == state.steps);
}

TEST_CASE("training: impossible settings are one sentence") {
  const Dataset data = synthetic_dataset(20, 1);
  const auto message = [&](const Settings& settings) {
    return message_of([&] { train(small_preset(), data, settings, {}, kWatchNothing); });
  };
  CHECK(message({.epochs = 0}) == "Training takes 1 to 1000 epochs, not 0.");
  CHECK(message({.batch = 0}) == "A training batch has 1 to 10000 images, not 0.");
  CHECK(message({.limit = 21}) == "There are 20 training images, not 21.");
  CHECK_THAT(message({.rate = 0}), ContainsSubstring("must be a positive number"));
  CHECK_THAT(message({.rate = std::nan("")}), ContainsSubstring("must be a positive number"));
  CHECK_THAT(message({.decay = -1}), ContainsSubstring("weight decay must be at least 0"));
  CHECK_THAT(message({.rate = 1, .decay = 1}),
             ContainsSubstring("times the learning rate, below 1"));
  CHECK_THAT(message({.epochs = 3, .batch = 5, .rate = 1e30, .method = Method::kMomentum}),
             ContainsSubstring("The loss is no longer finite"));
}

TEST_CASE("batches: an epoch shows every image once, in an order of its own") {
  const std::vector<int> first = epoch_order(1000, 5, 0);
  const std::vector<int> second = epoch_order(1000, 5, 1);
  CHECK(first == epoch_order(1000, 5, 0));
  CHECK(first != second);
  CHECK(first != epoch_order(1000, 6, 0));
  std::vector<int> sorted = first;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < 1000; ++i) REQUIRE(sorted[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("batches: augmented images are the image, mirrored or not, moved by at most a pixel") {
  Dataset data{
      .count = 1, .height = 5, .width = 5, .images = std::vector<std::uint8_t>(25), .labels = {4}};
  data.images[2 * 5 + 1] = 200;  // row 2, column 1; mirrored, column 3
  std::vector<int> seen(25);
  for (int epoch = 0; epoch < 400; ++epoch) {
    const Dataset batch = batch_of(data, {0}, 0, 1, true, 3, epoch);
    CHECK(batch.labels == data.labels);
    const auto at = std::find(batch.images.begin(), batch.images.end(), 200);
    REQUIRE(at != batch.images.end());
    ++seen[static_cast<std::size_t>(at - batch.images.begin())];
  }
  for (int place = 0; place < 25; ++place) {
    const bool reachable = place / 5 >= 1 && place / 5 <= 3;
    CHECK((seen[static_cast<std::size_t>(place)] > 0) == reachable);
  }
  CHECK(batch_of(data, {0}, 0, 1, false, 3, 0).images == data.images);
}
