#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/data/dataset.hpp"
#include "common/network/network.hpp"

namespace convlab::training {

/// Everything that the result of a training depends on, except preset and data.
struct Settings {
  int epochs = 8;
  int batch = 100;
  double rate = 1e-3;  ///< at the start; it falls to 0 along half a cosine
  double decay = 0;    ///< of the weights, per unit of the rate
  std::uint64_t seed = 1;
  int limit = 0;  ///< use only the first so many training images; 0: all
};

/// One line of JSON, for results and to tell whether a checkpoint belongs to these settings.
std::string to_json(const Settings& settings, const std::string& preset);

/// The state of a training, within an epoch or at its end.
struct Progress {
  int epoch = 0;   ///< from 1
  int epochs = 0;  ///< in all
  int images = 0;  ///< of this epoch that are done
  int epoch_images = 0;
  double loss = 0;      ///< mean over these images, when they were used
  double accuracy = 0;  ///< share of these images, when they were used

  [[nodiscard]] bool epoch_done() const { return images == epoch_images; }
};

/// Called after every batch; false stops the training there.
using Observer = std::function<bool(const Progress&)>;

struct Files {
  std::filesystem::path checkpoint;  ///< written after every epoch; empty: never
  bool resume = false;               ///< start from it
};

/// Trains the preset on the data set. The result depends on the settings, the data, the compiler
/// and the kind of processor, not on the number of threads nor on interruptions between epochs.
///
/// A checkpoint is stored as a weight file (docs/weights.md), all float32, so that it is checked
/// and written like one: after the network's parameters come Adam's moments, "moment0", "moment1",
/// …; the number of "epochs" that are done; and "settings", one value per character.
///
/// @return the weights before rounding for the disk; nothing if the observer stopped it
/// @throws UsageError for impossible settings, EnvironmentError for a checkpoint that does not fit
std::optional<Weights> train(const Preset& preset, const Dataset& dataset, const Settings& settings,
                             const Files& files, const Observer& observer);

/// The order in which epoch `epoch` sees images 0 … count − 1, from the seed alone: an epoch can be
/// repeated without those before it.
std::vector<int> epoch_order(int count, std::uint64_t seed, int epoch);

/// Images of the data set that the network classifies correctly, computed in single precision. The
/// grader's expected counts come from the double-precision oracle instead.
int count_correct(const Network& network, const Dataset& dataset);

}  // namespace convlab::training
