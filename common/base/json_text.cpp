#include "common/base/json_text.hpp"

#include <nlohmann/json.hpp>

#include "common/base/error.hpp"

namespace convlab {

Json parse_json(const std::string& text, int deepest) {
  return Json::parse(text, [deepest](int depth, Json::parse_event_t /*event*/, const Json&) {
    if (depth > deepest) throw EnvironmentError("it is nested too deeply");
    return true;
  });
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
