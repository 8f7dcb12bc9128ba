#include "grader/course/hints.hpp"

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/unknown_name.hpp"
#include "common/base/whole_file.hpp"

namespace convlab::grader {

Hints read_hints(const std::filesystem::path& file) {
  try {
    auto hints = parse_json(read_text(file)).get<Hints>();
    for (const auto& [name, list] : hints) {
      if (list.empty()) throw EnvironmentError(file.string() + " has no hints for " + name + ".");
    }
    return hints;
  } catch (const Json::exception& error) {
    throw EnvironmentError(file.string() + " is no object of lists of texts: " + error.what());
  }
}

const std::vector<std::string>& hints_of(const Hints& hints, const std::string& milestone,
                                         const std::optional<std::string>& stage) {
  const auto found = hints.find(stage.value_or("general"));
  if (found != hints.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, list] : hints) {
    if (name != "general") known.push_back(name);
  }
  if (known.empty()) {
    throw UsageError("The hints of " + milestone +
                     " are for all its stages; ask without --stage: build/bin/grader hint " +
                     milestone);
  }
  throw UsageError(unknown_name("stage", *stage, known, " with hints in " + milestone));
}

}  // namespace convlab::grader
