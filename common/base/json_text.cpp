#include "common/base/json_text.hpp"

#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/base/error.hpp"

namespace convlab {

// Not by a callback of the library, which then looks at a whole list for each of its entries.
Json parse_json(const std::string& text, int deepest) {
  // A member of an object is looked for among all others.
  constexpr int kMostMembers = 10'000;
  std::vector<int> members;  // of the objects and arrays that are open
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if ((c == ']' || c == '}') && !members.empty()) members.pop_back();
    if (c == '[' || c == '{') members.push_back(0);
    if (std::ssize(members) > deepest) throw EnvironmentError("it is nested too deeply");
    if (c == ':' && !members.empty() && ++members.back() > kMostMembers)
      throw EnvironmentError("an object in it has too many members");
  }
  return Json::parse(text);
}

Json parse_json_or_null(const std::string& text) {
  try {
    return parse_json(text);
  } catch (const Json::exception&) {
    return {};
  } catch (const EnvironmentError&) {
    return {};
  }
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace convlab
