#pragma once

#include <filesystem>
#include <string>

#include "common/network/weights.hpp"
#include "reference/training/optimizer.hpp"

namespace convlab::training {

/// A training between two epochs.
struct Checkpoint {
  std::string settings;  ///< to_json of Settings
  int epochs_done = 0;
  Weights weights;
  Optimizer::State optimizer;
};

/// Stored as a weight file (docs/weights.md), all float32, so that it is checked and written like
/// one: after the network's parameters come the optimizer's moments, "moment0", "moment1", …;
/// "progress" (epochs, steps); and "settings", one value per character.
/// @throws EnvironmentError
void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);

/// @throws EnvironmentError if there is none, it is damaged, or it is no checkpoint of this preset
Checkpoint read_checkpoint(const std::filesystem::path& file, const Preset& preset);

}  // namespace convlab::training
