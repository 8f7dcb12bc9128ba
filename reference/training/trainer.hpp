#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "common/data/dataset.hpp"
#include "common/network/preset.hpp"
#include "common/network/weights.hpp"
#include "reference/training/settings.hpp"

namespace convlab::training {

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
/// @return the weights before rounding for the disk; nothing if the observer stopped it
/// @throws UsageError for impossible settings, EnvironmentError for a checkpoint that does not fit
std::optional<Weights> train(const Preset& preset, const Dataset& dataset, const Settings& settings,
                             const Files& files, const Observer& observer);

}  // namespace convlab::training
