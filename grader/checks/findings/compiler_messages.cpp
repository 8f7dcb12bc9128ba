#include "grader/checks/findings/compiler_messages.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "common/base/whole_file.hpp"
#include "common/network/preset.hpp"
#include "grader/checks/findings/catalogue.hpp"

namespace convlab::grader {

namespace {

// The first line that uses the macro with more opening than closing brackets.
std::string unclosed(const std::string& macro, const SourceText& sources) {
  for (const auto& place : sources.lines_with({macro + "("})) {
    int open = 0;
    for (int next = place.line; next < place.line + 5; ++next) {
      const std::string line = sources.line(place.file, next);
      open += static_cast<int>(std::count(line.begin(), line.end(), '(') -
                               std::count(line.begin(), line.end(), ')'));
      if (line.ends_with(';')) break;
    }
    if (open > 0) return sources.quote(place.file, place.line);
  }
  return {};
}

Json known_messages() {
  // Of ROOT/common/network.
  const auto root = network_folder().parent_path().parent_path();
  return parse_json(read_text(root / "grader/checks/findings/compiler_messages.json"));
}

}  // namespace

Finding compiler_finding(const std::string& error, const SourceText& sources) {
  Finding found = finding("E-build", error);
  const std::string invoking = "unterminated argument list invoking macro \"";
  const auto macro = error.find(invoking);
  const auto colon = error.find(':');
  if (macro != std::string::npos) {
    found.seen += unclosed(word_at(error, macro + invoking.size()), sources);
  } else if (colon != std::string::npos) {
    const std::string file = error.substr(0, colon);
    found.seen +=
        sources.quote(file.substr(file.rfind('/') + 1), line_number(digits_at(error, colon + 1)));
  }
  // Each as one or two compilers put it.
  static const Json known = known_messages();
  for (const Json& words : known) {
    const auto is_said = [&](const Json& part) {
      return error.find(part.get<std::string>()) != std::string::npos;
    };
    if (std::ranges::none_of(words.at("says"), is_said)) continue;
    found.cause = words.at("cause");
    found.next = words.at("next");
    break;
  }
  return found;
}

}  // namespace convlab::grader
