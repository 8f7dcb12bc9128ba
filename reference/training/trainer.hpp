#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
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

/// What an epoch came to: means over its images, when they were used.
struct Epoch {
  int number = 0;  ///< from 1
  double loss = 0;
  double accuracy = 0;
};

struct Checkpoint {
  std::filesystem::path file;  ///< written after every epoch; empty: never
  bool resume = false;         ///< start from it
};

/// Trains the preset on the data set. The result depends on the settings, the data, the compiler
/// and the kind of processor, not on the number of threads nor on interruptions.
///
/// A checkpoint is stored as a weight file (docs/weights.md), all float32, so that it is checked
/// and written like one: "settings", one value per character, the number of "epochs" that are done,
/// and for each tensor its values and moments.
///
/// @param report  called after every epoch, when its checkpoint is written
/// @return the weights before rounding for the disk
/// @throws UsageError if the loss is no longer finite, EnvironmentError for a checkpoint that does
///         not fit
Weights train(const Preset& preset, const Dataset& dataset, const Settings& settings,
              const Checkpoint& checkpoint, const std::function<void(const Epoch&)>& report);

/// The order in which epoch `epoch` sees images 0 … count − 1, from the seed alone: an epoch can be
/// repeated without those before it.
std::vector<int> epoch_order(int count, std::uint64_t seed, int epoch);

/// Images of the data set that the network classifies correctly, computed in single precision. The
/// grader's expected counts come from the double-precision oracle instead.
int count_correct(const Network& network, const Dataset& dataset);

}  // namespace convlab::training
