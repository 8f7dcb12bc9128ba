#include "reference/training/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>
#include <span>

#include "common/base/error.hpp"
#include "common/data/random.hpp"
#include "common/data/resize.hpp"
#include "reference/training/model.hpp"
#include "reference/training/optimizer.hpp"

namespace convlab::training {

namespace {

namespace fs = std::filesystem;

void check_settings(const Settings& settings, const Dataset& dataset) {
  const auto require = [](bool holds, const std::string& what) {
    if (!holds) throw UsageError(what + ".");
  };
  require(settings.epochs >= 1 && settings.epochs <= 1000,
          "Training takes 1 to 1000 epochs, not " + std::to_string(settings.epochs));
  require(settings.batch >= 1 && settings.batch <= 10'000,
          "A training batch has 1 to 10000 images, not " + std::to_string(settings.batch));
  require(std::isfinite(settings.rate) && settings.rate > 0,
          "The learning rate must be a positive number, not " + std::to_string(settings.rate));
  require(settings.decay >= 0 && settings.decay * settings.rate < 1,
          "The weight decay must be at least 0 and, times the learning rate, below 1, not " +
              std::to_string(settings.decay));
  require(settings.limit >= 0 && settings.limit <= dataset.count,
          "There are " + std::to_string(dataset.count) + " training images, not " +
              std::to_string(settings.limit));
}

/// Some images of the data set with their labels.
Dataset batch_of(const Dataset& dataset, std::span<const int> images) {
  Dataset batch{.count = static_cast<int>(images.size()),
                .height = dataset.height,
                .width = dataset.width,
                .images = {},
                .labels = {}};
  const std::ptrdiff_t size = std::ptrdiff_t{dataset.height} * dataset.width;
  for (const int image : images) {
    const auto from = dataset.images.begin() + image * size;
    batch.images.insert(batch.images.end(), from, from + size);
    batch.labels.push_back(dataset.labels[static_cast<std::size_t>(image)]);
  }
  return batch;
}

class Training {
 public:
  Training(const Preset& preset, const Dataset& dataset, const Settings& settings)
      : preset_(preset),
        dataset_(dataset),
        settings_(settings),
        images_(settings.limit > 0 ? settings.limit : dataset.count),
        model_(preset, settings.seed) {}

  /// False if the observer stops it.
  bool run_epoch(int epoch, const Observer& observer) {
    const std::vector<int> order = epoch_order(images_, settings_.seed, epoch);
    Progress progress{.epoch = epoch + 1,
                      .epochs = settings_.epochs,
                      .images = 0,
                      .epoch_images = images_,
                      .loss = 0,
                      .accuracy = 0};
    Loss total;
    for (int first = 0; first < images_; first += settings_.batch) {
      const int count = std::min(settings_.batch, images_ - first);
      const Dataset batch =
          batch_of(dataset_, {order.begin() + first, order.begin() + first + count});
      const std::vector<float> pixels = resize_images(batch, count, preset_.image_size);
      const Loss loss = model_.step(pixels.data(), batch.labels.data(), count);
      adam_.step(model_.tensors(), rate(), settings_.decay);
      total.sum += loss.sum;
      total.correct += loss.correct;
      if (!std::isfinite(total.sum)) {
        throw UsageError("The loss is no longer finite: train again with a learning rate below " +
                         std::to_string(settings_.rate) + ".");
      }
      progress.images = first + count;
      progress.loss = total.sum / progress.images;
      progress.accuracy = static_cast<double>(total.correct) / progress.images;
      if (!observer(progress)) return false;
    }
    return true;
  }

  void write_checkpoint(const fs::path& file, int epochs) const {
    Weights all = model_.weights();
    for (Parameter& parameter : all.parameters) parameter.encoding = Encoding::kFloat32;
    const auto add = [&all](const std::string& name, std::vector<float> values) {
      const auto size = static_cast<int>(values.size());
      all.parameters.push_back({name, Encoding::kFloat32, {size}, std::move(values)});
    };
    for (std::size_t i = 0; i < adam_.moments.size(); ++i) {
      add("moment" + std::to_string(i), adam_.moments[i]);
    }
    const std::string settings = to_json(settings_, preset_.name);
    add("epochs", {static_cast<float>(epochs)});
    add("settings", {settings.begin(), settings.end()});
    write_weights(file, all);
  }

  /// @return the epochs that are done
  int restore(const fs::path& file) {
    if (!fs::exists(file)) {
      throw EnvironmentError("There is no checkpoint " + file.string() +
                             " to go on from: start without --resume.");
    }
    const Weights all = read_weights(file);
    const std::vector<float>& characters = all.at("settings").values;
    const std::string wanted = to_json(settings_, preset_.name);
    std::string settings;
    for (const float character : characters) settings += static_cast<char>(character);
    if (settings != wanted) {
      throw UsageError("The checkpoint " + file.string() + " was made with " + settings +
                       ", not with " + wanted + ": use its settings, or start without --resume.");
    }
    Weights weights = empty_weights(preset_);
    for (Parameter& parameter : weights.parameters) {
      parameter.values = all.at(parameter.name).values;
      for (int moment = 0; moment < 2; ++moment) {
        adam_.moments.push_back(all.at("moment" + std::to_string(adam_.moments.size())).values);
        adam_.moments.back().resize(parameter.values.size());
      }
    }
    model_.set_weights(weights);
    const int epochs = static_cast<int>(all.at("epochs").values.at(0));
    adam_.steps = epochs * steps_per_epoch();
    return epochs;
  }

  [[nodiscard]] Weights weights() const { return model_.weights(); }

 private:
  [[nodiscard]] std::int64_t steps_per_epoch() const {
    return (images_ + settings_.batch - 1) / settings_.batch;
  }

  [[nodiscard]] double rate() const {
    const double share = static_cast<double>(adam_.steps) /
                         static_cast<double>(steps_per_epoch() * settings_.epochs);
    return settings_.rate * (1 + std::cos(std::numbers::pi * share)) / 2;
  }

  const Preset& preset_;
  const Dataset& dataset_;
  const Settings& settings_;
  int images_;
  Model model_;
  Adam adam_;
};

}  // namespace

std::string to_json(const Settings& settings, const std::string& preset) {
  const nlohmann::json json = {{"preset", preset},        {"epochs", settings.epochs},
                               {"batch", settings.batch}, {"rate", settings.rate},
                               {"decay", settings.decay}, {"seed", settings.seed},
                               {"limit", settings.limit}};
  return json.dump();
}

std::vector<int> epoch_order(int count, std::uint64_t seed, int epoch) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  Random random(Random(seed).next() + static_cast<std::uint64_t>(epoch));
  for (int i = count - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(random.below(i + 1))]);
  }
  return order;
}

std::optional<Weights> train(const Preset& preset, const Dataset& dataset, const Settings& settings,
                             const Files& files, const Observer& observer) {
  check_settings(settings, dataset);
  Training training(preset, dataset, settings);
  for (int epoch = files.resume ? training.restore(files.checkpoint) : 0; epoch < settings.epochs;
       ++epoch) {
    if (!training.run_epoch(epoch, observer)) return std::nullopt;
    if (!files.checkpoint.empty()) training.write_checkpoint(files.checkpoint, epoch + 1);
  }
  return training.weights();
}

int count_correct(const Network& network, const Dataset& dataset) {
  constexpr int kPiece = 500;  // saves memory
  const Preset& preset = network.preset();
  std::vector<int> all(static_cast<std::size_t>(dataset.count));
  std::iota(all.begin(), all.end(), 0);
  int correct = 0;
  for (int first = 0; first < dataset.count; first += kPiece) {
    const int count = std::min(kPiece, dataset.count - first);
    const Dataset piece = batch_of(dataset, {all.begin() + first, all.begin() + first + count});
    const std::vector<float> logits = network.forward(
        resize_images(piece, count, preset.image_size), count,
        [](int /*conv_index*/, const ConvShape& shape, const float* input, const float* weights,
           float* output) { convolve(shape, input, weights, output); });
    const std::vector<int> classes = argmax(logits, preset.classes);
    for (std::size_t i = 0; i < classes.size(); ++i)
      correct += classes[i] == piece.labels[i] ? 1 : 0;
  }
  return correct;
}

}  // namespace convlab::training
