// train: preset in, weights out.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/run_program.hpp"
#include "common/base/stopwatch.hpp"
#include "common/base/whole_file.hpp"
#include "reference/training/trainer.hpp"

namespace {

namespace fs = std::filesystem;
using namespace convlab;

struct Options {
  std::string preset = kDefaultPreset;
  training::Settings settings;
  fs::path output;
  fs::path json;
  bool resume = false;
  bool force = false;
};

void describe(CLI::App& app, Options& options) {
  app.footer(
      "Examples:\n"
      "  train fa23 --output /tmp/mine.clw         the default network\n"
      "  train presets/fa27.json --epochs 12       a new one, into common/network/weights\n"
      "  train fa27 --resume                       goes on after Ctrl-C\n");
  training::Settings& settings = options.settings;
  app.add_option("PRESET", options.preset, "Name of a preset, or its .json file")
      ->capture_default_str();
  app.add_option("--epochs", settings.epochs, "Times that every image is seen")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--batch", settings.batch, "Images per step")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--lr", settings.rate, "Learning rate at the start; it falls to 0 along a cosine")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--decay", settings.decay, "Weight decay: keeps weights that do not help small")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_seed(app, settings.seed, "Same seed, same weights")->capture_default_str();
  app.add_option("--limit", settings.limit, "Only the first so many images (0: all)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--output", options.output,
                 "Weight file to write (default: the preset's in common/network/weights)");
  app.add_flag("--force", options.force, "Replace the weight file if it exists");
  app.add_flag("--resume", options.resume,
               "Go on from OUTPUT.checkpoint, which is written after every epoch");
  app.add_option("--json", options.json, "Write settings, epochs and accuracy to this file");
}

ExitCode run(Options options) {
  const Preset preset = load_preset(options.preset);
  if (options.output.empty()) {
    options.output = network_folder() / "weights" / (preset.name + ".clw");
  }
  if (fs::exists(options.output) && !options.force) {
    throw UsageError("The weight file " + options.output.string() +
                     " exists: name another one with --output, or replace it with --force.");
  }
  fs::path checkpoint = options.output;
  checkpoint += ".checkpoint";
  require_writable(options.output);
  require_writable(checkpoint);
  if (!options.json.empty()) require_writable(options.json);

  const Dataset train_set = load_dataset(Split::kTrain);
  const Dataset test_set = load_dataset(Split::kTest);
  auto epochs = nlohmann::json::array();
  Stopwatch stopwatch;
  const Weights weights = training::train(
      preset, train_set, options.settings, {checkpoint, options.resume},
      [&](const training::Epoch& epoch) {
        const double seconds = stopwatch.milliseconds() * 1e-3;
        std::fprintf(stderr, "epoch %d/%d: loss %.4f, accuracy %.4f, %.1f s\n", epoch.number,
                     options.settings.epochs, epoch.loss, epoch.accuracy, seconds);
        epochs.push_back({{"epoch", epoch.number},
                          {"loss", epoch.loss},
                          {"accuracy", epoch.accuracy},
                          {"seconds", seconds}});
        stopwatch = {};
      });

  write_weights(options.output, weights);
  const Network network(preset, read_weights(options.output));
  const int correct = training::count_correct(network, test_set);
  std::printf("%s: %d of %d test images are right (%.4f); weights in %s\n", preset.name.c_str(),
              correct, test_set.count, static_cast<double>(correct) / test_set.count,
              options.output.string().c_str());
  if (!options.json.empty()) {
    const nlohmann::json result = {
        {"version", 1},
        {"settings", nlohmann::json::parse(to_json(options.settings, preset.name))},
        {"epochs", epochs},
        {"test", {{"correct", correct}, {"total", test_set.count}}},
        {"weights", options.output.filename().string()}};
    write_atomically(options.json, result.dump(2) + "\n");
  }
  fs::remove(checkpoint);
  return ExitCode::kPassed;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a network: preset in, weights out, with the accuracy of what is on disk.",
               "train");
  describe(app, options);
  return run_program(app, argc, argv, [&] { return run(options); });
}
