#include "reference/training/checkpoint.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.hpp"

namespace convlab::training {

namespace {

Parameter vector_of(std::string name, std::vector<float> values) {
  const auto size = static_cast<int>(values.size());
  return {.name = std::move(name),
          .encoding = Encoding::kFloat32,
          .dims = {size},
          .values = std::move(values)};
}

std::string moment_name(std::size_t i) {
  return "moment" + std::to_string(i);
}

// Whole numbers above 2²⁴ do not fit into a float; two do.
constexpr std::int64_t kBase = 1 << 20;

}  // namespace

void write_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint) {
  Weights all = checkpoint.weights;
  for (Parameter& parameter : all.parameters) parameter.encoding = Encoding::kFloat32;
  for (std::size_t i = 0; i < checkpoint.optimizer.moments.size(); ++i) {
    all.parameters.push_back(vector_of(moment_name(i), checkpoint.optimizer.moments[i]));
  }
  const std::int64_t steps = checkpoint.optimizer.steps;
  const std::int64_t whole = steps / kBase;
  all.parameters.push_back(
      vector_of("progress", {static_cast<float>(checkpoint.epochs_done), static_cast<float>(whole),
                             static_cast<float>(steps % kBase)}));
  all.parameters.push_back(
      vector_of("settings", {checkpoint.settings.begin(), checkpoint.settings.end()}));
  write_weights(file, all);
}

Checkpoint read_checkpoint(const std::filesystem::path& file, const Preset& preset) {
  if (!std::filesystem::exists(file)) {
    throw EnvironmentError("There is no checkpoint " + file.string() +
                           " to go on from: start without --resume.");
  }
  const Weights all = read_weights(file);
  Checkpoint checkpoint;
  checkpoint.weights = empty_weights(preset);
  for (Parameter& parameter : checkpoint.weights.parameters) {
    parameter.values = all.at(parameter.name).values;
  }
  const std::vector<float>& progress = all.at("progress").values;
  if (progress.size() != 3) {
    throw EnvironmentError("The checkpoint " + file.string() +
                           " does not say how far it got: start without --resume.");
  }
  checkpoint.epochs_done = static_cast<int>(progress[0]);
  checkpoint.optimizer.steps =
      static_cast<std::int64_t>(progress[1]) * kBase + static_cast<std::int64_t>(progress[2]);
  for (const Parameter& parameter : all.parameters) {
    if (parameter.name == moment_name(checkpoint.optimizer.moments.size())) {
      checkpoint.optimizer.moments.push_back(parameter.values);
    }
  }
  for (float character : all.at("settings").values) {
    checkpoint.settings += static_cast<char>(character);
  }
  return checkpoint;
}

}  // namespace convlab::training
