#include "grader/course/hints.hpp"

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"

namespace convlab::grader {

namespace {

std::vector<std::string> list_of(const nlohmann::json& json, const std::string& place) {
  auto list = json.get<std::vector<std::string>>();
  if (list.empty()) throw EnvironmentError(place + " has no hints; write at least one.");
  return list;
}

}  // namespace

Hints read_hints(const std::filesystem::path& file, bool needs_general) {
  const std::string text = read_text(file);
  try {
    const auto json = nlohmann::json::parse(text);
    if (!json.is_object()) return {.general = list_of(json, file.string())};
    Hints hints;
    for (const auto& [stage, list] : json.items()) {
      auto& to = stage == "general" ? hints.general : hints.stages[stage];
      to = list_of(list, file.string() + ", '" + stage + "',");
    }
    if (needs_general && hints.general.empty()) {
      throw EnvironmentError(file.string() + " lacks the list 'general'; add it.");
    }
    return hints;
  } catch (const nlohmann::json::exception& error) {
    throw EnvironmentError(
        file.string() + " is neither a list of texts nor an object of such lists: " + error.what());
  }
}

const std::vector<std::string>& hints_of(const Hints& hints, const std::string& milestone,
                                         const std::optional<std::string>& stage) {
  if (!stage) return hints.general;
  const auto found = hints.stages.find(*stage);
  if (found != hints.stages.end()) return found->second;
  if (hints.stages.empty()) {
    throw UsageError("The hints of " + milestone +
                     " are for all its stages; ask without --stage: build/bin/grader hint " +
                     milestone);
  }
  std::vector<std::string> known;
  for (const auto& entry : hints.stages) known.push_back(entry.first);
  throw UsageError(unknown_name("stage", *stage, known, " with hints in " + milestone));
}

}  // namespace convlab::grader
