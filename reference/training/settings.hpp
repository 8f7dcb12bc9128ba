#pragma once

#include <cstdint>
#include <string>

#include "reference/training/optimizer.hpp"

namespace convlab::training {

/// Everything that the result of a training depends on, except preset and data.
struct Settings {
  int epochs = 8;
  int batch = 100;
  double rate = 1e-3;  ///< at the start; it falls to 0 along half a cosine
  double decay = 0;    ///< of the weights, per unit of the rate
  Method method = Method::kAdam;
  std::uint64_t seed = 1;
  int limit = 0;  ///< use only the first so many training images; 0: all
  bool augment = false;
};

/// One line of JSON, for results and to tell whether a checkpoint belongs to these settings.
std::string to_json(const Settings& settings, const std::string& preset);

}  // namespace convlab::training
