#include "reference/training/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "common/base/error.hpp"
#include "common/data/resize.hpp"
#include "reference/training/batches.hpp"
#include "reference/training/checkpoint.hpp"
#include "reference/training/model.hpp"

namespace convlab::training {

namespace {

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

class Training {
 public:
  Training(const Preset& preset, const Dataset& dataset, const Settings& settings)
      : dataset_(dataset),
        settings_(settings),
        image_size_(preset.image_size),
        images_(settings.limit > 0 ? settings.limit : dataset.count),
        model_(preset, settings.seed),
        optimizer_(settings.method, model_.tensors()) {}

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
          batch_of(dataset_, order, first, count, settings_.augment, settings_.seed, epoch);
      const std::vector<float> pixels = resize_images(batch, count, image_size_);
      const Loss loss = model_.step(pixels.data(), batch.labels.data(), count);
      optimizer_.step(rate(), settings_.decay);
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

  void restore(const Checkpoint& checkpoint) {
    model_.set_weights(checkpoint.weights);
    optimizer_.set_state(checkpoint.optimizer);
  }

  [[nodiscard]] Checkpoint checkpoint(const std::string& settings, int epochs_done) const {
    return {settings, epochs_done, model_.weights(), optimizer_.state()};
  }

  [[nodiscard]] Weights weights() const { return model_.weights(); }

 private:
  [[nodiscard]] double rate() const {
    const std::int64_t steps_per_epoch = (images_ + settings_.batch - 1) / settings_.batch;
    const double share = static_cast<double>(optimizer_.state().steps) /
                         static_cast<double>(steps_per_epoch * settings_.epochs);
    return settings_.rate * (1 + std::cos(std::numbers::pi * share)) / 2;
  }

  const Dataset& dataset_;
  const Settings& settings_;
  int image_size_;
  int images_;
  Model model_;
  Optimizer optimizer_;
};

}  // namespace

std::optional<Weights> train(const Preset& preset, const Dataset& dataset, const Settings& settings,
                             const Files& files, const Observer& observer) {
  check_settings(settings, dataset);
  const std::string description = to_json(settings, preset.name);
  Training training(preset, dataset, settings);
  int first_epoch = 0;
  if (files.resume) {
    const Checkpoint checkpoint = read_checkpoint(files.checkpoint, preset);
    if (checkpoint.settings != description) {
      throw UsageError("The checkpoint " + files.checkpoint.string() + " was made with " +
                       checkpoint.settings + ", not with " + description +
                       ": use its settings, or start without --resume.");
    }
    training.restore(checkpoint);
    first_epoch = checkpoint.epochs_done;
  }
  for (int epoch = first_epoch; epoch < settings.epochs; ++epoch) {
    if (!training.run_epoch(epoch, observer)) return std::nullopt;
    if (!files.checkpoint.empty()) {
      write_checkpoint(files.checkpoint, training.checkpoint(description, epoch + 1));
    }
  }
  return training.weights();
}

}  // namespace convlab::training
