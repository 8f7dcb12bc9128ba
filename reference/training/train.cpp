// train: preset in, weights out.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/run_program.hpp"
#include "common/base/whole_file.hpp"
#include "reference/training/trainer.hpp"

namespace {

namespace fs = std::filesystem;
using namespace convlab;

volatile std::sig_atomic_t interrupted = 0;

struct Options {
  std::string preset = kDefaultPreset;
  training::Settings settings;
  std::optional<fs::path> data;
  fs::path output;
  fs::path checkpoint;
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
      ->capture_default_str();
  app.add_option("--batch", settings.batch, "Images per step")->capture_default_str();
  app.add_option("--lr", settings.rate, "Learning rate at the start; it falls to 0 along a cosine")
      ->capture_default_str();
  app.add_option("--decay", settings.decay, "Weight decay: keeps weights that do not help small")
      ->capture_default_str();
  add_seed(app, settings.seed, "Same seed, same weights")->capture_default_str();
  app.add_option("--limit", settings.limit, "Only the first so many images (0: all)")
      ->capture_default_str();
  app.add_option("--data", options.data, "Folder of the data set");
  app.add_option("--output", options.output,
                 "Weight file to write (default: the preset's in common/network/weights)");
  app.add_flag("--force", options.force, "Replace the weight file if it exists");
  app.add_option("--checkpoint", options.checkpoint,
                 "Written after every epoch, removed at the end (default: OUTPUT.checkpoint)");
  app.add_flag("--resume", options.resume, "Go on from the checkpoint");
  app.add_option("--json", options.json, "Write settings, epochs and accuracy to this file");
}

/// A line per epoch, which grows with it on a terminal. Collects the data of the JSON file.
class Reporter {
 public:
  bool operator()(const training::Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (progress.epoch_done()) {
      const double seconds = std::chrono::duration<double>(now - epoch_start_).count();
      std::fprintf(stderr, "%s%s, %.1f s%s\n", terminal_ ? "\r" : "", text(progress).c_str(),
                   seconds, terminal_ ? "\x1b[K" : "");
      epochs_.push_back({{"epoch", progress.epoch},
                         {"loss", progress.loss},
                         {"accuracy", progress.accuracy},
                         {"seconds", seconds}});
      epoch_start_ = now;
    } else if (terminal_ && now - last_shown_ > std::chrono::milliseconds(100)) {
      std::fprintf(stderr, "\r%s, %d of %d images\x1b[K", text(progress).c_str(), progress.images,
                   progress.epoch_images);
      last_shown_ = now;
    }
    if (interrupted != 0 && terminal_) std::fputc('\n', stderr);
    return interrupted == 0;
  }

  [[nodiscard]] const nlohmann::json& epochs() const { return epochs_; }

 private:
  static std::string text(const training::Progress& progress) {
    char line[96];
    std::snprintf(line, sizeof line, "epoch %d/%d: loss %.4f, accuracy %.4f", progress.epoch,
                  progress.epochs, progress.loss, progress.accuracy);
    return line;
  }

  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::chrono::steady_clock::time_point epoch_start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_shown_;
  nlohmann::json epochs_ = nlohmann::json::array();
};

ExitCode run(Options options) {
  const Preset preset = load_preset(options.preset);
  if (options.output.empty()) {
    options.output = network_folder() / "weights" / (preset.name + ".clw");
  }
  if (fs::exists(options.output) && !options.force) {
    throw UsageError("The weight file " + options.output.string() +
                     " exists: name another one with --output, or replace it with --force.");
  }
  const fs::path folder = fs::absolute(options.output).parent_path();
  if (!fs::is_directory(folder)) {
    throw UsageError("The folder " + folder.string() + " of --output does not exist.");
  }
  if (options.checkpoint.empty()) {
    options.checkpoint = options.output;
    options.checkpoint += ".checkpoint";
  }

  require_writable(options.output);
  require_writable(options.checkpoint);
  if (!options.json.empty()) require_writable(options.json);

  const Dataset train_set = load_dataset(Split::kTrain, options.data);
  const Dataset test_set = load_dataset(Split::kTest, options.data);
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  Reporter reporter;
  const auto weights = training::train(preset, train_set, options.settings,
                                       {options.checkpoint, options.resume}, std::ref(reporter));
  if (!weights) {
    if (fs::exists(options.checkpoint)) {
      std::cerr << "Interrupted. The last whole epoch is in " << options.checkpoint.string()
                << "; go on with the same command and --resume.\n";
    } else {
      std::cerr << "Interrupted before the first epoch was over; nothing is left.\n";
    }
    return ExitCode::kInterrupted;
  }

  write_weights(options.output, *weights);
  const Network network(preset, read_weights(options.output));
  const int correct = training::count_correct(network, test_set);
  std::printf("%s: %d of %d test images are right (%.4f); weights in %s\n", preset.name.c_str(),
              correct, test_set.count, static_cast<double>(correct) / test_set.count,
              options.output.string().c_str());
  if (!options.json.empty()) {
    const nlohmann::json result = {
        {"version", 1},
        {"settings", nlohmann::json::parse(to_json(options.settings, preset.name))},
        {"epochs", reporter.epochs()},
        {"test", {{"correct", correct}, {"total", test_set.count}}},
        {"weights", options.output.filename().string()}};
    const std::string text = result.dump(2) + "\n";
    write_atomically(options.json, text);
  }
  fs::remove(options.checkpoint);
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
