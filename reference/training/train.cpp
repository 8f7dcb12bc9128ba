// train: preset in, weights and expected answers out.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <numeric>
#include <span>

#include "common/base/error.hpp"
#include "common/base/run_program.hpp"
#include "common/base/stopwatch.hpp"
#include "common/base/whole_file.hpp"
#include "common/data/dataset.hpp"
#include "common/data/random.hpp"
#include "common/network/network.hpp"
#include "reference/oracle/expected.hpp"
#include "reference/training/model.hpp"

namespace {

namespace fs = std::filesystem;
using namespace convlab;

struct Options {
  std::string preset = kDefaultPreset;
  int epochs = 8;
  int batch = 100;
  double rate = 1e-3;
  double decay = 0;
  std::uint64_t seed = 1;
  int limit = 0;
  fs::path output;
  bool force = false;
  bool keep = false;
};

void describe(CLI::App& app, Options& options) {
  app.footer(
      "Examples:\n"
      "  train fa23 --output /tmp/mine.clw         the default network\n"
      "  train presets/fa27.json --epochs 12       a new one, into common/network/weights\n");
  app.option_defaults()->always_capture_default();
  app.add_option("PRESET", options.preset, "Name of a preset, or its .json file");
  app.add_option("--epochs", options.epochs, "Times that every image is seen")
      ->check(CLI::Range(1, 1000));
  app.add_option("--batch", options.batch, "Images per step")->check(CLI::Range(1, 10'000));
  app.add_option("--lr", options.rate, "Learning rate at the start; it falls to 0 along a cosine")
      ->check(CLI::PositiveNumber);
  app.add_option("--decay", options.decay, "Weight decay: keeps weights that do not help small")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", options.seed, "Same seed, same weights")->check(CLI::NonNegativeNumber);
  app.add_option("--limit", options.limit, "Only the first so many images (0: all)")
      ->check(CLI::NonNegativeNumber);
  app.add_option(
      "--output", options.output,
      "Weight file to write (default: the preset's in common/network/weights, with the answers "
      "that the grader expects in reference/oracle/expected)");
  auto* force = app.add_flag("--force", options.force, "Replace the weight file if it exists");
  app.add_flag("--keep", options.keep, "Do not train: only expect answers of the weights there are")
      ->excludes(force);
}

/// The order in which an epoch sees images 0 … count − 1, from the seed alone.
std::vector<int> epoch_order(int count, std::uint64_t seed, int epoch) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  Random random(Random(seed).next() + static_cast<std::uint64_t>(epoch));
  for (int i = count - 1; i > 0; --i)
    std::swap(order.begin()[i], order.begin()[random.below(i + 1)]);
  return order;
}

/// Some images of the data set with their labels.
Dataset batch_of(const Dataset& dataset, std::span<const int> images) {
  Dataset batch{static_cast<int>(images.size()), dataset.height, dataset.width, {}, {}};
  const std::ptrdiff_t size = std::ptrdiff_t{dataset.height} * dataset.width;
  for (const int image : images) {
    const auto from = dataset.images.begin() + image * size;
    batch.images.insert(batch.images.end(), from, from + size);
    batch.labels.push_back(dataset.labels[static_cast<std::size_t>(image)]);
  }
  return batch;
}

void train(const Preset& preset, const Options& options) {
  require_writable(options.output);
  const Dataset dataset = load_dataset(Split::kTrain);
  const int images = options.limit > 0 ? std::min(options.limit, dataset.count) : dataset.count;
  const int steps = (images + options.batch - 1) / options.batch;
  training::Model model(preset, options.seed);
  std::int64_t made = 0;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    const Stopwatch stopwatch;
    const std::vector<int> order = epoch_order(images, options.seed, epoch);
    training::Loss total;
    for (int first = 0; first < images; first += options.batch) {
      const int count = std::min(options.batch, images - first);
      const Dataset batch = batch_of(dataset, std::span(order).subspan(first, count));
      const Buffer pixels = resize_images(batch, count, preset.image_size);
      const training::Loss loss = model.step(pixels.data(), batch.labels.data(), count);
      const double share = static_cast<double>(made) / (double{1} * steps * options.epochs);
      model.learn(++made, options.rate * (1 + std::cos(std::numbers::pi * share)) / 2,
                  options.decay);
      total.sum += loss.sum;
      total.correct += loss.correct;
      if (!std::isfinite(total.sum)) {
        throw UsageError("The loss is no longer finite: train again with a learning rate below " +
                         std::to_string(options.rate) + ".");
      }
    }
    std::fprintf(stderr, "epoch %d/%d: loss %.4f, accuracy %.4f, %.1f s\n", epoch + 1,
                 options.epochs, total.sum / images, double{1} * total.correct / images,
                 stopwatch.milliseconds() * 1e-3);
  }
  write_weights(options.output, model.weights());
}

ExitCode run(Options options) {
  const Preset preset = load_preset(options.preset);
  const bool is_for_everybody = options.output.empty();
  if (is_for_everybody) options.output = network_folder() / "weights" / (preset.name + ".clw");
  if (fs::exists(options.output) && !options.force && !options.keep) {
    throw UsageError("The weight file " + options.output.string() +
                     " exists: name another one with --output, or replace it with --force.");
  }
  const Dataset test_set = load_dataset(Split::kTest);
  if (!options.keep) train(preset, options);
  const Network network(preset, read_weights(options.output, preset));
  const auto expected = oracle::compute_expected(network, test_set, test_set.count);
  const auto [correct, undecided] = oracle::count(expected, test_set.labels, test_set.count);
  std::printf("%s: %d of %d test images are right (%.4f), %d undecided; weights in %s\n",
              preset.name.c_str(), correct, test_set.count, double{1} * correct / test_set.count,
              undecided, options.output.string().c_str());
  if (is_for_everybody) {
    write_atomically(oracle::expected_folder() / (preset.name + ".json"),
                     oracle::to_json(expected, test_set.labels));
  }
  return ExitCode::kPassed;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a network: preset in, weights and expected answers out.", "train");
  describe(app, options);
  return run_program(app, argc, argv, [&] { return run(options); });
}
