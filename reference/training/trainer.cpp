#include "reference/training/trainer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>
#include <span>

#include "common/base/error.hpp"
#include "common/data/random.hpp"
#include "common/data/resize.hpp"
#include "reference/training/model.hpp"

namespace convlab::training {

namespace {

namespace fs = std::filesystem;

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

/// What a checkpoint holds of a tensor.
std::array<std::vector<float>*, 3> state_of(Tensor& tensor) {
  return {&tensor.values, &tensor.mean, &tensor.variance};
}

void write_checkpoint(const fs::path& file, Model& model, const std::string& settings, int epochs) {
  Weights all;
  const auto add = [&all](const std::string& name, std::vector<float> values) {
    const auto size = static_cast<int>(values.size());
    all.parameters.push_back({name, Encoding::kFloat32, {size}, std::move(values)});
  };
  add("settings", {settings.begin(), settings.end()});
  add("epochs", {static_cast<float>(epochs)});
  for (Tensor* tensor : model.tensors()) {
    for (const auto* values : state_of(*tensor)) add("", *values);
  }
  write_weights(file, all);
}

/// @return the epochs that are done
int restore(const fs::path& file, Model& model, const std::string& wanted) {
  if (!fs::exists(file)) {
    throw EnvironmentError("There is no checkpoint " + file.string() +
                           " to go on from: start without --resume.");
  }
  const Weights all = read_weights(file);
  std::string settings;
  for (const float character : all.at("settings").values) settings += static_cast<char>(character);
  if (settings != wanted) {
    throw UsageError("The checkpoint " + file.string() + " was made with " + settings +
                     ", not with " + wanted + ": use its settings, or start without --resume.");
  }
  std::size_t from = 2;
  for (Tensor* tensor : model.tensors()) {
    for (auto* values : state_of(*tensor)) {
      if (from == all.parameters.size() || all.parameters[from].values.size() != values->size()) {
        throw EnvironmentError("The checkpoint " + file.string() +
                               " belongs to another network: start without --resume.");
      }
      *values = all.parameters[from++].values;
    }
  }
  return static_cast<int>(all.at("epochs").values.at(0));
}

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

Weights train(const Preset& preset, const Dataset& dataset, const Settings& settings,
              const Checkpoint& checkpoint, const std::function<void(const Epoch&)>& report) {
  Model model(preset, settings.seed);
  const std::string text = to_json(settings, preset.name);
  const int images = settings.limit > 0 ? std::min(settings.limit, dataset.count) : dataset.count;
  const std::int64_t steps = (images + settings.batch - 1) / settings.batch;
  const auto rate = [&](std::int64_t step) {
    const double share = static_cast<double>(step) / static_cast<double>(steps * settings.epochs);
    return settings.rate * (1 + std::cos(std::numbers::pi * share)) / 2;
  };
  for (int epoch = checkpoint.resume ? restore(checkpoint.file, model, text) : 0;
       epoch < settings.epochs; ++epoch) {
    const std::vector<int> order = epoch_order(images, settings.seed, epoch);
    std::int64_t step = epoch * steps;
    Loss total;
    for (int first = 0; first < images; first += settings.batch) {
      const int count = std::min(settings.batch, images - first);
      const Dataset batch =
          batch_of(dataset, {order.begin() + first, order.begin() + first + count});
      const std::vector<float> pixels = resize_images(batch, count, preset.image_size);
      const Loss loss = model.step(pixels.data(), batch.labels.data(), count);
      model.learn(step + 1, rate(step), settings.decay);
      ++step;
      total.sum += loss.sum;
      total.correct += loss.correct;
      if (!std::isfinite(total.sum)) {
        throw UsageError("The loss is no longer finite: train again with a learning rate below " +
                         std::to_string(settings.rate) + ".");
      }
    }
    if (!checkpoint.file.empty()) write_checkpoint(checkpoint.file, model, text, epoch + 1);
    report({epoch + 1, total.sum / images, static_cast<double>(total.correct) / images});
  }
  return model.weights();
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
