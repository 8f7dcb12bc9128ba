#include "reference/training/settings.hpp"

#include <nlohmann/json.hpp>

namespace convlab::training {

std::string to_json(const Settings& settings, const std::string& preset) {
  const nlohmann::json json = {
      {"preset", preset},           {"epochs", settings.epochs},
      {"batch", settings.batch},    {"rate", settings.rate},
      {"decay", settings.decay},    {"optimizer", to_string(settings.method)},
      {"seed", settings.seed},      {"limit", settings.limit},
      {"augment", settings.augment}};
  return json.dump();
}

}  // namespace convlab::training
