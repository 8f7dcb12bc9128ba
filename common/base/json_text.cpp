#include "common/base/json_text.hpp"

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"

namespace convlab {

// Not by a callback of the library, which then looks at a whole list for each of its entries.
Json parse_json(const std::string& text, int deepest) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == ']' || c == '}') --depth;
    if ((c == '[' || c == '{') && ++depth > deepest)
      throw EnvironmentError("it is nested too deeply");
  }
  return Json::parse(text);
}

Json parse_json_or_null(const std::string& text) {
  try {
    return parse_json(text);
  } catch (const Json::exception&) {
    return {};
  }
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace convlab
