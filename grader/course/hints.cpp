#include "grader/course/hints.hpp"

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"
#include "common/base/json_text.hpp"
#include "common/base/whole_file.hpp"
#include "grader/course/course.hpp"

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
                                         const std::string& stage) {
  const auto found = hints.find(stage.empty() ? "general" : stage);
  if (found != hints.end()) return found->second;
  throw UsageError(stage + " has no hints of its own; ask without --stage: " +
                   grader_command("hint", milestone));
}

}  // namespace convlab::grader
